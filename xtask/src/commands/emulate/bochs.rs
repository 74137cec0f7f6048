//! A machine in Bochs: a processor, a disc to start from, and a serial line that what it says comes by.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::packages::{only, program, run};

/// What the machine says last, before its results.
const END: &str = "EMULATED-RESULT: ";

/// Longer than this it hangs.
const MOST_TIME: Duration = Duration::from_secs(900);

/// What the kernel is told. Bochs's processors say that they have features which it then does not have as Linux uses them: moves of short strings, and tiles.
const KERNEL: &str = "console=ttyS0,115200 quiet mitigations=off panic=-1 random.trust_cpu=on nokaslr no_timer_check acpi=off \
                      tsc_early_khz=50000 cryptomgr.notests clearcpuid=fsrm,amx_tile";

/// A disc that starts the kernel of unpacked packages with these first files.
pub(super) fn disc(root: &Path, folder: &Path, first_files: &[u8]) -> Result<PathBuf> {
    let (files, disc) = (folder.join("disc"), folder.join("disc.iso"));
    let loader = files.join("isolinux");
    fs::create_dir_all(&loader)?;
    let copy = |from: &Path, to: &Path| fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()));
    copy(&only(&root.join("boot"), "vmlinuz-")?, &files.join("vmlinuz"))?;
    copy(&root.join("usr/lib/ISOLINUX/isolinux.bin"), &loader.join("isolinux.bin"))?;
    copy(&root.join("usr/lib/syslinux/modules/bios/ldlinux.c32"), &loader.join("ldlinux.c32"))?;
    fs::write(files.join("initrd"), first_files)?;
    let configuration =
        format!("DEFAULT linux\nPROMPT 0\nLABEL linux\n LINUX /vmlinuz\n INITRD /initrd\n APPEND {KERNEL}\n");
    fs::write(loader.join("isolinux.cfg"), configuration)?;
    let mut xorriso = program(root, "usr/bin/xorriso");
    xorriso.args([
        "-as",
        "mkisofs",
        "-quiet",
        "-b",
        "isolinux/isolinux.bin",
        "-c",
        "isolinux/boot.cat",
        "-no-emul-boot",
    ]);
    xorriso.args(["-boot-load-size", "4", "-boot-info-table", "-o"]).arg(&disc).arg(&files);
    run(&mut xorriso)?;
    Ok(disc)
}

/// Starts a machine with this processor from a disc, and gives back all that it said until it told its results.
pub(super) fn console(root: &Path, folder: &Path, model: &str, disc: &Path) -> Result<String> {
    let serial = folder.join(format!("{model}.serial"));
    let configuration = folder.join(format!("{model}.bochsrc"));
    fs::write(&configuration, describe(root, folder, model, disc))?;
    let mut bochs = program(root, "usr/bin/bochs-bin");
    bochs.arg("-q").arg("-f").arg(&configuration);
    bochs.env("LTDL_LIBRARY_PATH", root.join("usr/lib/x86_64-linux-gnu/bochs/plugins"));
    bochs.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut machine = Machine(bochs.spawn().context("Bochs cannot be started")?);
    let begun = Instant::now();
    let (mut said, mut read) = (String::new(), 0);
    while !said.lines().any(|line| line.starts_with(END) && said.ends_with('\n')) {
        ensure!(begun.elapsed() < MOST_TIME, "{model} says nothing of its results; it said last {:?}", last(&said));
        let ended = machine.0.try_wait()?;
        thread::sleep(Duration::from_millis(200));
        read += more(&serial, read, &mut said)?;
        if let Some(status) = ended {
            ensure!(said.contains(END), "Bochs ended as {model} ({status}); it said last {:?}", last(&said));
        }
    }
    Ok(said)
}

/// Bochs's description of the machine.
fn describe(root: &Path, folder: &Path, model: &str, disc: &Path) -> String {
    let (root, folder, disc) = (root.display(), folder.display(), disc.display());
    format!(
        "config_interface: textconfig\n\
         display_library: rfb, options=\"timeout=0\"\n\
         cpu: model={model}, count=1, ips=50000000, reset_on_triple_fault=0, ignore_bad_msrs=1\n\
         memory: guest=512, host=512\n\
         romimage: file={root}/usr/share/bochs/BIOS-bochs-latest\n\
         vgaromimage: file={root}/usr/share/vgabios/vgabios.bin\n\
         ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14\n\
         ata0-master: type=cdrom, path={disc}, status=inserted\n\
         boot: cdrom\n\
         sound: driver=dummy\n\
         com1: enabled=1, mode=file, dev={folder}/{model}.serial\n\
         log: {folder}/{model}.bochs\n\
         panic: action=fatal\n\
         error: action=ignore\n\
         info: action=ignore\n\
         clock: sync=none\n"
    )
}

/// Appends what was written to a file since, and says how many bytes that was.
fn more(path: &Path, from: u64, to: &mut String) -> Result<u64> {
    let Ok(mut file) = File::open(path) else { return Ok(0) };
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    to.push_str(&String::from_utf8_lossy(&bytes));
    Ok(bytes.len() as u64)
}

/// The last line that says something.
fn last(said: &str) -> &str {
    said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim()
}

/// Of the results, which programs passed and which failed.
pub(super) fn results(said: &str) -> Option<[usize; 2]> {
    let result = said.lines().find_map(|line| line.trim().strip_prefix(END))?;
    let (passed, failed) = result.strip_suffix(" failed")?.split_once(" passed, ")?;
    Some([passed.parse().ok()?, failed.parse().ok()?])
}

/// Bochs itself, which is ended with this.
struct Machine(Child);

impl Drop for Machine {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_off_the_console() {
        assert_eq!(results("guest-init: up\r\nEMULATED-RESULT: 5 passed, 1 failed\r\n"), Some([5, 1]));
        assert_eq!(results("guest-init: up\r\nKernel panic\r\n"), None);
        assert_eq!(last("one\r\ntwo \r\n\r\n"), "two");
    }
}
