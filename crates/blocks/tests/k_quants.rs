//! The K-quants' encoders write ggml's bytes, and their decoders give its floats, bit for bit.
//!
//! `data/k_quants/` holds what ggml made of the rows and blocks that are generated here; `make_vectors.py` there
//! generates the same ones, and was run where ggml is.

use bytemuck::Pod;
use keepq_blocks::{Block, BlockQ2_K, BlockQ3_K, BlockQ4_K, BlockQ5_K, BlockQ6_K, GgmlType, Matrix, encode_row};
use keepq_goldens::inputs::Random;

struct Type {
    ty: GgmlType,
    encode: fn(&[f32; 256]) -> Vec<u8>,
    decode: fn(&[u8]) -> Vec<f32>,
    bytes: usize,
    /// Where a block has its f16 scales.
    scales: &'static [usize],
    /// Blocks of all rows, then the floats of all blocks.
    ggml: &'static [u8],
}

macro_rules! types {
    ($($ty:ident, $block:ident, $file:literal, $scales:expr;)*) => {
        [$(Type {
            ty: GgmlType::$ty,
            encode: |x| bytemuck::bytes_of(&$block::encode(x)).to_vec(),
            decode: decode::<$block>,
            bytes: size_of::<$block>(),
            scales: &$scales,
            ggml: include_bytes!(concat!("data/k_quants/", $file)),
        }),*]
    };
}

const TYPES: [Type; 5] = types! {
    Q2_K, BlockQ2_K, "q2_k.bin", [80, 82];
    Q3_K, BlockQ3_K, "q3_k.bin", [108];
    Q4_K, BlockQ4_K, "q4_k.bin", [0, 2];
    Q5_K, BlockQ5_K, "q5_k.bin", [0, 2];
    Q6_K, BlockQ6_K, "q6_k.bin", [208];
};

fn decode<B: Block + Pod>(bytes: &[u8]) -> Vec<f32> {
    bytemuck::from_bytes::<B>(bytes).decode().as_ref().to_vec()
}

/// What the elements of a row have in common.
struct Row {
    scale: f32,
    centre: f32,
    /// One element.
    at: usize,
    /// Elements in a sub-block.
    width: usize,
    /// Of each sub-block.
    offsets: [f32; 16],
    sizes: [f32; 16],
}

impl Row {
    fn new(random: &mut Random) -> Self {
        let scale = 2.0_f32.powi(random.below(40) as i32 - 30);
        Self {
            scale,
            centre: random.gaussian() * scale,
            at: random.below(256),
            width: 16 << random.below(2),
            offsets: std::array::from_fn(|_| random.gaussian()),
            sizes: std::array::from_fn(|_| random.unit()),
        }
    }
}

/// An element, from its index, that of its sub-block, and what the row has in common.
type Element = fn(usize, usize, &Row, &mut Random) -> f32;

const KINDS: [(&str, Element); 25] = [
    ("gaussian", |_, _, row, random| random.gaussian() * row.scale),
    ("sub-blocks differ", |_, b, row, random| (random.gaussian() * row.sizes[b] + row.offsets[b]) * row.scale),
    ("positive constant", |_, _, row, _| row.centre.abs()),
    ("negative constant", |_, _, row, _| -row.centre.abs()),
    ("zeros", |_, _, _, random| 0.0 * random.sign()),
    ("outlier", |i, _, row, random| if i == row.at { row.scale * 100.0 } else { random.gaussian() * row.scale }),
    ("one element", |i, _, row, _| if i == row.at { row.centre } else { 0.0 }),
    ("alternating", |i, _, row, _| if i.is_multiple_of(2) { row.centre } else { -row.centre }),
    ("around 1e-15", |_, b, row, random| random.gaussian() * 2e-15 * row.sizes[b]),
    ("denormal", |_, _, _, random| f32::from_bits(random.below(1 << 23) as u32) * random.sign()),
    ("huge", |_, b, _, random| random.gaussian() * 2.0_f32.powi(60 + 4 * b as i32)),
    ("overflowing", |_, _, _, random| f32::MAX * random.unit() * random.sign()),
    ("positive", |_, _, row, random| (random.unit() + 0.25) * row.scale),
    ("negative", |_, _, row, random| (random.unit() + 0.25) * -row.scale),
    ("nearly constant", |_, _, row, random| row.centre * (1.0 + (random.below(9) as f32 - 4.0) * 2.0_f32.powi(-23))),
    ("nearly constant sub-blocks", |_, b, row, random| {
        row.offsets[b] * (1.0 + (random.below(17) as f32 - 8.0) * 2.0_f32.powi(-22))
    }),
    ("constant sub-blocks", |_, b, row, _| row.offsets[b] * row.scale),
    ("halves", |_, _, row, random| (random.below(64) as f32 - 31.5) * row.scale),
    ("sparse", |_, _, row, random| if random.below(16) == 0 { random.gaussian() * row.scale } else { 0.0 }),
    ("any exponent", |_, _, _, random| {
        f32::from_bits((1 + random.below(254) as u32) << 23 | random.bits() as u32 & 0x807f_ffff)
    }),
    ("heavy tails", |_, _, _, random| {
        let v = random.gaussian();
        v * v * v * 0.02
    }),
    ("four levels", |_, b, row, random| (random.below(4) as f32 - 1.0) * row.scale * (1 + b) as f32),
    ("grid", |_, _, row, random| (random.below(31) as f32 - 15.0) * row.scale),
    ("falling", |_, b, _, random| random.gaussian() * 2.0_f32.powi(-6 * b as i32)),
    ("equal but for spikes", |_, b, row, random| {
        let height = (row.sizes[b] * 24.0).trunc();
        let ulps = match random.below(24) {
            0 => 0.0,
            1 => height,
            _ => (height * 0.5).trunc(),
        };
        -row.offsets[b].abs() * (1.0 + ulps * 2.0_f32.powi(-23))
    }),
];

/// Seeds of each kind.
const SEEDS: u64 = 4;

/// Kind and seed of rows on which a search depends on a detail that other rows seldom show.
const RARE: [(usize, u64); 11] = [
    (24, 673),  // Q2_K: the scale of a sub-block is negative, its bits overlap the minimum's
    (15, 156),  // Q2_K: the order in which a candidate's inverse is added up
    (17, 70),   // Q2_K: codes come from a division, not from a reciprocal
    (17, 53),   // Q3_K: the fifth round changes a code
    (17, 3178), // Q3_K: a sixth one would
    (5, 12850), // Q3_K: a code that would stay the same counts as no change
    (8, 12),    // Q3_K: a sub-block just above 1e-15
    (1, 24),    // Q4_K: the last candidate is the best
    (5, 25),    // Q5_K: likewise
    (5, 355),   // Q6_K: likewise
    (23, 41),   // Q6_K: the first candidate would be the best once more
];

fn row(kind: usize, seed: u64) -> [f32; 256] {
    let mut random = Random::new(seed << 8 | kind as u64);
    let row = Row::new(&mut random);
    std::array::from_fn(|i| KINDS[kind].1(i, i / row.width, &row, &mut random))
}

/// The rows with the names of their kinds.
fn rows() -> impl Iterator<Item = (&'static str, [f32; 256])> {
    let regular = (0..SEEDS).flat_map(|seed| (0..KINDS.len()).map(move |kind| (kind, seed)));
    regular.chain(RARE).map(|(kind, seed)| (KINDS[kind].0, row(kind, seed)))
}

/// Of the scales of generated blocks: usual, negative, denormal, the largest, infinite, NaN, -0.0.
const SCALES: [u16; 8] = [0x2c31, 0xa1f3, 0x0001, 0x7bff, 0x7c00, 0x7e01, 0x8000, 0xb555];

/// Blocks of random bits, but for the scales.
fn blocks(ty: &Type) -> impl Iterator<Item = Vec<u8>> {
    let mut random = Random::new(ty.bytes as u64);
    (0..SCALES.len()).map(move |n| {
        let mut block: Vec<u8> = (0..ty.bytes).map(|_| random.bits() as u8).collect();
        for (i, &at) in ty.scales.iter().enumerate() {
            block[at..at + 2].copy_from_slice(&SCALES[(n + 3 * i) % SCALES.len()].to_le_bytes());
        }
        block
    })
}

#[test]
fn encoders_write_the_bytes_of_ggml() {
    for ty in &TYPES {
        for ((kind, x), want) in rows().zip(ty.ggml.chunks_exact(ty.bytes)) {
            assert_eq!((ty.encode)(&x), want, "{}, {kind}", ty.ty);
        }
    }
}

#[test]
fn decoders_give_the_floats_of_ggml() {
    for ty in &TYPES {
        let (floats, rest) = ty.ggml[rows().count() * ty.bytes..].as_chunks::<4>();
        assert_eq!((floats.len(), rest.len()), (SCALES.len() * 256, 0));
        for (n, (block, want)) in blocks(ty).zip(floats.as_chunks::<256>().0).enumerate() {
            for (j, (got, want)) in (ty.decode)(&block).into_iter().zip(want).enumerate() {
                let want = f32::from_le_bytes(*want);
                let equal = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                assert!(equal, "{}, block {n}, element {j}: {got:e}, not {want:e}", ty.ty);
            }
        }
    }
}

#[test]
fn rows_of_any_type_are_its_blocks() {
    let (a, b) = (row(0, 1), row(1, 2));
    for ty in &TYPES {
        let mut bytes = vec![0; 2 * ty.bytes];
        encode_row(ty.ty, &[a, b].concat(), &mut bytes).unwrap();
        assert_eq!(bytes, [(ty.encode)(&a), (ty.encode)(&b)].concat(), "{}", ty.ty);
        let mut elements = vec![0.0; 512];
        Matrix::new(ty.ty, 1, 512, &bytes).unwrap().decode_row(0, &mut elements).unwrap();
        assert_eq!(elements, [(ty.decode)(&bytes[..ty.bytes]), (ty.decode)(&bytes[ty.bytes..])].concat(), "{}", ty.ty);
    }
}

/// Nothing is promised about their bytes.
#[test]
fn elements_that_are_not_finite_make_no_encoder_panic() {
    for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for at in [0, 100, 255] {
            for (_, mut x) in rows() {
                x[at] = odd;
                for ty in &TYPES {
                    (ty.encode)(&x);
                }
            }
        }
    }
}
