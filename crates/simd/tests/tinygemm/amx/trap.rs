//! AMX's instructions on a processor that has none: each raises a signal, and its handler does what the instruction should have done, on tiles in memory.
//!
//! After Intel's description of the instructions (Software Developer's Manual, volume 2, AMX), with all checks that it makes of operands: what a processor would refuse
//! ends the process here too. Only the forms that compilers make are known.

use std::cell::{Cell, RefCell};

/// Bytes of a configuration.
pub(super) type Configuration = [u8; 64];

/// The registers of a thread.
struct Tiles {
    configuration: Configuration,
    tiles: [[[u8; 64]; 16]; 8],
}

/// How often a thread has run which instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) loads_of_configurations: usize,
    pub(super) releases: usize,
    pub(super) products: usize,
}

thread_local! {
    static SIGNS_ARE_IGNORED: Cell<bool> = const { Cell::new(false) };
    static TILES: RefCell<Tiles> = const { RefCell::new(Tiles { configuration: [0; 64], tiles: [[[0; 64]; 16]; 8] }) };
    static COUNTS: Cell<Counts> = const { Cell::new(Counts { loads_of_configurations: 0, releases: 0, products: 0 }) };
}

/// Installs the handler, for the whole process.
pub(super) fn install() {
    // SAFETY: all zeros are a legal description of a handler, which is filled in; the handler touches what is the interrupted thread's own.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGILL, &raw const action, std::ptr::null_mut())
    };
    assert_eq!(result, 0, "the handler is installed");
}

/// This thread's configuration; all zeros where there is none.
pub(super) fn configuration() -> Configuration {
    TILES.with_borrow(|tiles| tiles.configuration)
}

/// What this thread has run since the last call.
pub(super) fn counts() -> Counts {
    COUNTS.take()
}

/// Runs something by a processor that takes all codes for unsigned: the fault of a well-known emulator.
pub(super) fn ignoring_signs<R>(run: impl FnOnce() -> R) -> R {
    SIGNS_ARE_IGNORED.set(true);
    let result = run();
    SIGNS_ARE_IGNORED.set(false);
    result
}

fn count(change: impl FnOnce(&mut Counts)) {
    let mut counts = COUNTS.get();
    change(&mut counts);
    COUNTS.set(counts);
}

extern "C" fn handle(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel hands over the interrupted thread's context, which nobody else has.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    // SAFETY: the instruction that raised the signal lies there; none is longer than 15 bytes, and what is read is no more than its own.
    let done = TILES.with_borrow_mut(|tiles| unsafe { execute(tiles, registers) });
    match done {
        Ok(bytes) => registers[libc::REG_RIP as usize] += bytes,
        Err(why) => {
            // Neither a panic nor a print may leave a handler.
            let line = [b"an instruction that AMX would refuse: ", why.as_bytes(), b"\n"];
            for part in line {
                // SAFETY: the bytes are there.
                unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
            }
            // SAFETY: it ends the process.
            unsafe { libc::abort() }
        }
    }
}

impl Tiles {
    fn row_bytes(&self, tile: usize) -> usize {
        usize::from(u16::from_le_bytes([self.configuration[16 + 2 * tile], self.configuration[17 + 2 * tile]]))
    }

    fn rows(&self, tile: usize) -> usize {
        usize::from(self.configuration[48 + tile])
    }

    fn check(&self, tile: usize) -> Result<(), &'static str> {
        if tile < 8 && self.rows(tile) > 0 { Ok(()) } else { Err("a tile that is not configured") }
    }

    fn configure(&mut self, configuration: Configuration) -> Result<(), &'static str> {
        let reserved = configuration[1..16].iter().chain(&configuration[32..48]).chain(&configuration[56..]);
        if configuration[0] > 1 || reserved.into_iter().any(|byte| *byte != 0) {
            return Err("a palette or a reserved byte of a configuration");
        }
        *self = Self { configuration, tiles: [[[0; 64]; 16]; 8] };
        if configuration[0] == 0 {
            self.configuration = [0; 64];
        }
        let legal = |tile| {
            self.row_bytes(tile) <= 64 && self.rows(tile) <= 16 && (self.rows(tile) == 0) == (self.row_bytes(tile) == 0)
        };
        if (0..8).all(legal) { Ok(()) } else { Err("a shape of a configuration") }
    }

    /// `to += a * b`, of four bytes in turn.
    fn multiply(&mut self, to: usize, a: usize, b: usize, signed: [bool; 2]) -> Result<(), &'static str> {
        for tile in [to, a, b] {
            self.check(tile)?;
        }
        let fits = self.rows(a) == self.rows(to)
            && self.row_bytes(b) == self.row_bytes(to)
            && self.row_bytes(a) == 4 * self.rows(b);
        if to == a || to == b || a == b || !fits {
            return Err("operands of a product");
        }
        let value = |byte: u8, signed: bool| if signed { i32::from(byte.cast_signed()) } else { i32::from(byte) };
        for row in 0..self.rows(to) {
            for column in 0..self.row_bytes(to) / 4 {
                let mut sum = 0_i32;
                for k in 0..self.row_bytes(a) {
                    let a = value(self.tiles[a][row][k], signed[0]);
                    sum = sum.wrapping_add(a * value(self.tiles[b][k / 4][4 * column + k % 4], signed[1]));
                }
                let to = &mut self.tiles[to][row][4 * column..][..4];
                let before = i32::from_le_bytes([to[0], to[1], to[2], to[3]]);
                to.copy_from_slice(&before.wrapping_add(sum).to_le_bytes());
            }
        }
        Ok(())
    }
}

type Registers = [i64; 23];

/// Runs the instruction that the registers point to, and says how long it is.
///
/// # Safety
/// An instruction lies there, and its operand in memory, if it is one of AMX's, can be read and written.
unsafe fn execute(tiles: &mut Tiles, registers: &Registers) -> Result<i64, &'static str> {
    let code = registers[libc::REG_RIP as usize] as *const u8;
    // SAFETY: as the caller promises; all of AMX's instructions are at least five bytes long.
    let head = unsafe { code.cast::<[u8; 5]>().read() };
    // A VEX prefix of three bytes, map 2, 128 bits.
    if head[0] != 0xc4 || head[1] & 0x1f != 2 || head[2] & 0x84 != 0 {
        return Err("none of AMX's");
    }
    let high = |bit: u8| usize::from(!head[1] >> bit & 1) * 8;
    let (register, operand) = (usize::from(head[4] >> 3 & 7) + high(7), usize::from(head[4] & 7));
    let second = usize::from(!head[2] >> 3 & 15);
    let (opcode, prefix, in_memory) = (head[3], head[2] & 3, head[4] >> 6 != 3);
    match (opcode, prefix, in_memory) {
        (0x49, 0, false) => {
            tiles.configure([0; 64])?;
            count(|counts| counts.releases += 1);
            Ok(5)
        }
        (0x49, 3, false) => {
            tiles.check(register)?;
            tiles.tiles[register] = [[0; 64]; 16];
            Ok(5)
        }
        (0x5e, _, false) => {
            // None: both unsigned, 66: the second signed, F3: the first, F2: both.
            let signed = [prefix >= 2, prefix % 2 == 1].map(|signed| signed && !SIGNS_ARE_IGNORED.get());
            tiles.multiply(register, operand + high(5), second, signed)?;
            count(|counts| counts.products += 1);
            Ok(5)
        }
        (0x49 | 0x4b, _, true) => {
            // SAFETY: as the caller promises.
            let memory = unsafe { Memory::read(code, registers, high) }?;
            match (opcode, prefix) {
                (0x49, 0) => {
                    // SAFETY: an operand of 64 bytes.
                    tiles.configure(unsafe { memory.row(0).cast::<Configuration>().read_unaligned() })?;
                    count(|counts| counts.loads_of_configurations += 1);
                }
                // SAFETY: as above.
                (0x49, 1) => unsafe { memory.row(0).cast::<Configuration>().write_unaligned(tiles.configuration) },
                (0x4b, 2 | 3) if memory.has_index => {
                    tiles.check(register)?;
                    for row in 0..tiles.rows(register) {
                        let (bytes, lane) = (tiles.row_bytes(register), &mut tiles.tiles[register][row]);
                        match prefix {
                            // SAFETY: the rows of the operand are there.
                            3 => unsafe { memory.row(row).copy_to(lane.as_mut_ptr(), bytes) },
                            // SAFETY: as above.
                            _ => unsafe { memory.row(row).copy_from(lane.as_ptr(), bytes) },
                        }
                    }
                }
                _ => return Err("an unknown instruction"),
            }
            Ok(memory.bytes)
        }
        _ => Err("an unknown instruction"),
    }
}

/// An operand in memory.
struct Memory {
    base: i64,
    /// What the index adds to it for each row.
    stride: i64,
    has_index: bool,
    /// Of the whole instruction.
    bytes: i64,
}

impl Memory {
    /// # Safety
    /// `code` is an instruction of AMX with such an operand.
    unsafe fn read(code: *const u8, registers: &Registers, high: impl Fn(u8) -> usize) -> Result<Self, &'static str> {
        // SAFETY: as the caller promises, here and below: what is read follows from the bytes before it.
        let byte = |at: usize| unsafe { code.add(at).read() };
        let (mode, low) = (byte(4) >> 6, usize::from(byte(4) & 7));
        let (mut stride, mut has_index, mut at) = (0, false, 5);
        let base = if low == 4 {
            let (scale, index, base) =
                (byte(5) >> 6, usize::from(byte(5) >> 3 & 7) + high(6), usize::from(byte(5) & 7));
            has_index = true;
            at += 1;
            if index != 4 {
                stride = general(registers, index) << scale;
            }
            if base == 5 && mode == 0 {
                return Err("an address without a base");
            }
            general(registers, base + high(5))
        } else if low == 5 && mode == 0 {
            return Err("an address relative to the instruction");
        } else {
            general(registers, low + high(5))
        };
        let displacement = match mode {
            1 => i64::from(byte(at).cast_signed()),
            // SAFETY: as above.
            2 => i64::from(unsafe { code.add(at).cast::<i32>().read_unaligned() }),
            _ => 0,
        };
        at += [0, 1, 4][usize::from(mode)];
        Ok(Self { base: base.wrapping_add(displacement), stride, has_index, bytes: at as i64 })
    }

    fn row(&self, row: usize) -> *mut u8 {
        self.base.wrapping_add(self.stride.wrapping_mul(row as i64)) as *mut u8
    }
}

/// A general register, by its number in instructions.
fn general(registers: &Registers, number: usize) -> i64 {
    use libc::{REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    use libc::{REG_RAX, REG_RBP, REG_RBX, REG_RCX, REG_RDI, REG_RDX, REG_RSI, REG_RSP};

    const ORDER: [i32; 16] = [
        REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI, REG_R8, REG_R9, REG_R10, REG_R11,
        REG_R12, REG_R13, REG_R14, REG_R15,
    ];
    registers[ORDER[number] as usize]
}
