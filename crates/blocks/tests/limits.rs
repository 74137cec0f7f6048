//! Where ggml's searches give up, to the bit: the answers are those of its `quantize_row_q6_K_ref`.

use bytemuck::Zeroable;
use keepq_blocks::BlockQ6_K;

#[test]
fn a_super_block_of_q6_k_counts_from_a_largest_scale_of_1e_15_on() {
    // Weighted sums of such elements are denormal, and so coarse that other elements near them miss the limit.
    let at = f32::from_bits(0x2910_1ca7);
    let block = BlockQ6_K::encode(&std::array::from_fn(|j| if j % 16 == 0 { at } else { at * 0.5 }));
    assert_eq!((block.scales, block.d.to_bits()), ([-128; 16], 0));
    assert_eq!(block.codes()[..3], [-32, -16, -16]);

    // Sub-blocks that count, for their elements are above the limit, but whose scales are below it.
    let below = f32::from_bits(0x2910_1dbc);
    assert_eq!(BlockQ6_K::encode(&[below; 256]), BlockQ6_K::zeroed());
    assert_ne!(BlockQ6_K::encode(&[below.next_up(); 256]), BlockQ6_K::zeroed());
}
