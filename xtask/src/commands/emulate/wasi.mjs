// node --input-type=module --eval THIS -- PROGRAM ARGUMENTS...: ends as the program does.
import { readFile } from 'node:fs/promises';
import { WASI } from 'node:wasi';

const args = process.argv.slice(1);
const wasi = new WASI({ version: 'preview1', args, env: process.env, returnOnExit: true });
const { instance } = await WebAssembly.instantiate(await readFile(args[0]), wasi.getImportObject());
process.exitCode = wasi.start(instance);
