//! AMX: the same bits, and a configuration that is there during a call and gone after it.
//!
//! Where the machine has it, its own; else the instructions are run in memory ([`trap`]).
#![allow(unsafe_code, reason = "AMX on the word of a test, which handles what its instructions raise")]

mod trap;

use std::sync::OnceLock;
use std::thread;

use keepq_simd::{Amx, AmxError, Tier};
use keepq_tinygemm::ActBuf;
use keepq_tinygemm::int4::{QuantizedMatrixQ4, linear_q4};
use keepq_tinygemm::w4a8::{Weights, pack, packed_bytes};

use super::{Random, compare_on};

/// Tokens below, at and above one tile and two.
const TOKENS: [usize; 9] = [1, 2, 15, 16, 17, 31, 32, 33, 50];

#[test]
fn w4a8_is_the_definition() {
    let mut random = Random(6);
    for (n, k, group) in [(32, 0, 32), (32, 32, 32), (64, 96, 32), (96, 128, 64), (32, 384, 128), (64, 512, 256)] {
        let (codes, scales) = (random.codes(n * k), random.floats(n * k / group));
        let random_zeros: Vec<i8> = (0..scales.len()).map(|_| random.bits() as i8).collect();
        for zeros in [random_zeros, vec![-128; scales.len()]] {
            let mut records = vec![0; packed_bytes(n, k, group).unwrap()];
            let w = pack((n, k), group, &codes, &scales, &zeros, &mut records).unwrap();
            for m in TOKENS {
                let mut x = random.floats(m * k);
                // Its own token alone is poisoned.
                x.iter_mut().skip(1).step_by(7 * k + 1).for_each(|x| *x = f32::NAN);
                check_w4a8(w, m, &x);
            }
        }
    }
}

/// Rows end in the middle of a tile, of two and of a strip, k in the middle of bytes, of tiles and of pieces.
#[test]
fn int4_is_the_definition() {
    let mut random = Random(7);
    for n in [1, 15, 16, 17, 32, 33, 70] {
        for k in [0, 1, 2, 63, 64, 65, 129, 511, 512, 513, 1090] {
            let w = QuantizedMatrixQ4::quantize(n, k, &random.floats(n * k)).unwrap();
            let m = TOKENS[random.bits() as usize % TOKENS.len()];
            let mut x = random.floats(m * k);
            x.iter_mut().skip(1).step_by(7 * k + 1).for_each(|x| *x = f32::NAN);
            check_int4(&w, m, &x);
        }
    }
    let w = QuantizedMatrixQ4::quantize(300, 70, &random.floats(300 * 70)).unwrap();
    TOKENS.into_iter().for_each(|m| check_int4(&w, m, &random.floats(m * 70)));
}

/// All codes at either end, all activations at either end: the largest sums, of either sign.
#[test]
fn the_largest_sums() {
    let (n, k, m) = (32, 1024, 17);
    for sign in [1.0, -1.0] {
        let x = vec![sign; m * k];
        for (code, zero) in [(15, -128), (15, 127), (0, 127), (0, -128)] {
            let (scales, zeros) = (vec![1.0; n * k / 128], vec![zero; n * k / 128]);
            let mut records = vec![0; packed_bytes(n, k, 128).unwrap()];
            check_w4a8(pack((n, k), 128, &vec![code; n * k], &scales, &zeros, &mut records).unwrap(), m, &x);
            let w = QuantizedMatrixQ4::from_parts(n, k, vec![code << 4 | code; n * k / 2], vec![0.7; n]).unwrap();
            check_int4(&w, m, &x);
        }
    }
}

#[test]
fn few_tokens_go_without() {
    let Some(amx) = trapped() else { return };
    let w = QuantizedMatrixQ4::quantize(4, 64, &Random(8).floats(4 * 64)).unwrap();
    let (mut buffer, x) = (ActBuf::new(), Random(9).floats(Amx::TOKENS * 64));
    trap::counts();
    for m in [Amx::TOKENS - 1, Amx::TOKENS] {
        let mut y = vec![0.0; m * 4];
        Tier::PORTABLE.with_amx(amx).int4_strip(&w, 0..4, buffer.quantize(m, 64, &x[..m * 64]).unwrap(), &mut y);
        assert_eq!(trap::counts().products, if m < Amx::TOKENS { 0 } else { 4 });
    }
}

/// Loaded by each call on each thread, released by each; and where something was configured before, that is put back.
#[test]
fn the_configuration_is_a_call_s_own() {
    let Some(_) = trapped() else { return };
    trap::counts();
    let call = || {
        let w = QuantizedMatrixQ4::quantize(4, 64, &Random(8).floats(4 * 64)).unwrap();
        check_int4(&w, 16, &Random(9).floats(16 * 64));
        trap::counts()
    };
    let calls = [0; 3].map(|_| call());
    assert!(calls.iter().all(|counts| *counts == calls[0]), "{calls:?}");
    let trap::Counts { loads_of_configurations, releases, .. } = calls[0];
    assert!(loads_of_configurations > 0 && loads_of_configurations == releases, "{calls:?}");
    assert_eq!(trap::configuration(), [0; 64]);

    let mut another = [0; 64];
    (another[0], another[16], another[48]) = (1, 32, 8);
    // SAFETY: the operand is a legal configuration of 64 bytes, and the handler is installed.
    unsafe {
        std::arch::asm!("ldtilecfg [{}]", in(reg) &raw const another, options(readonly, nostack, preserves_flags))
    };
    trap::counts();
    let inside = call();
    assert_eq!((inside.releases, trap::configuration()), (0, another));
    assert_eq!(inside.loads_of_configurations, 2 * loads_of_configurations, "one's own, and what was there");
    // Other threads have registers of their own.
    let outside = thread::scope(|scope| [0; 2].map(|_| scope.spawn(call)).map(|thread| thread.join().unwrap()));
    assert_eq!(outside, [calls[0]; 2]);
    // SAFETY: as above.
    unsafe { std::arch::asm!("tilerelease", options(nomem, nostack, preserves_flags)) };
}

/// Of wrong instructions, and of those that are right.
#[test]
fn the_self_test_finds_what_computes_otherwise() {
    let Some(amx) = trapped() else { return };
    let tier = Tier::best().with_amx(amx);
    for path in Amx::PATHS {
        assert!(tier.self_test(path), "{path}");
        assert!(!trap::ignoring_signs(|| tier.self_test(path)), "{path}");
    }
}

#[test]
fn it_is_had_or_the_reason_is_named() {
    match Amx::enable() {
        Ok(amx) => assert_eq!(Tier::best().with_amx(amx).amx(), Some(amx)),
        Err(why) => assert!(why.to_string().starts_with("amx: "), "{why}"),
    }
    assert_eq!(Amx::asked(), Some(Amx::enable()));
    assert_eq!(Tier::best().amx(), None);
}

/// AMX: the machine's, or what the trap does. A machine that has it and refuses it can do neither.
fn amx() -> Option<Amx> {
    static AMX: OnceLock<Option<Amx>> = OnceLock::new();
    *AMX.get_or_init(|| match Amx::enable() {
        Ok(amx) => Some(amx),
        Err(AmxError::NotHere) => {
            trap::install();
            // SAFETY: the handler does what the instructions should.
            Some(unsafe { Amx::assume() })
        }
        Err(why) => {
            println!("skipped: {why}");
            None
        }
    })
}

/// AMX, where the trap runs it and counts.
fn trapped() -> Option<Amx> {
    let amx = amx();
    if Amx::enable().is_ok() {
        println!("skipped: this machine has AMX itself, and runs it uncounted");
        return None;
    }
    amx
}

fn check_w4a8(w: Weights<'_>, m: usize, x: &[f32]) {
    let (mut buffer, n) = (ActBuf::new(), w.n());
    let x = buffer.quantize(m, w.k(), x).unwrap();
    let mut want = vec![f32::NAN; m * n];
    w.multiply(x, &mut want);
    for rows in [0..n, n - 32..n] {
        compare(&want, n, &rows, |tier, y| tier.w4a8_strip(w, rows.clone(), x, y));
    }
}

fn check_int4(w: &QuantizedMatrixQ4, m: usize, x: &[f32]) {
    let (mut buffer, n) = (ActBuf::new(), w.n());
    let x = buffer.quantize(m, w.k(), x).unwrap();
    let mut want = vec![f32::NAN; m * n];
    linear_q4(x, w, &mut want);
    for rows in [0..n, n / 3..n, n..n] {
        compare(&want, n, &rows, |tier, y| tier.int4_strip(w, rows.clone(), x, y));
    }
}

/// Compares what `strip` makes of `rows` on the best tier and on the portable one, both with AMX, with these rows of `want[m,n]`.
fn compare(want: &[f32], n: usize, rows: &std::ops::Range<usize>, strip: impl Fn(Tier, &mut [f32])) {
    let Some(amx) = amx() else { return };
    compare_on(&[Tier::best(), Tier::PORTABLE].map(|tier| tier.with_amx(amx)), want, n, rows, "", strip);
}
