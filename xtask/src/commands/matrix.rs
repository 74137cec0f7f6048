//! `xtask matrix`: what can be done with each type on each tier, asked of the crates themselves.

use std::fmt;

use anyhow::Result;
use keepq_act::ActFormat;
use keepq_blocks::{GgmlType, Matrix, TypeIdError, encode_row};
use keepq_dot::Interleaved;
use keepq_gemm::{Residency, Weight, WeightStack};
use keepq_simd::{Amx, Tier};
use keepq_tinygemm::select::PathKind;
use serde::Serialize;

use crate::columns::{Align, aligned};
use crate::files;

/// The arguments of `matrix`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let matrix = Support::of_this_version();
    if args.json { files::print(&(serde_json::to_string(&matrix)? + "\n")) } else { files::print(&matrix.to_string()) }
}

/// The matrix. It does not depend on the machine.
#[derive(Debug, Serialize)]
struct Support {
    tiers: &'static [&'static str],
    types: Vec<Type>,
    four_bit: Vec<FourBit>,
}

/// A 4-bit format beside ggml's types. Kernels of it are on every tier alike.
#[derive(Debug, Serialize)]
struct FourBit {
    name: &'static str,
    activations: &'static str,
    /// Tokens from which AMX multiplies; `None` where it does not.
    amx_tokens: Option<usize>,
    gaps: Vec<String>,
}

/// A type id of ggml's list.
#[derive(Debug, Serialize)]
struct Type {
    id: u32,
    name: &'static str,
    /// None where ggml removed the type.
    block: Option<Block>,
    decode: bool,
    encode: bool,
    /// What its weights are multiplied by where they lie.
    activations: Option<String>,
    /// On every tier alike: kernels are written once, and a tier compiles all of them.
    products: Products,
    /// Whether a copy of rows side by side can be asked for.
    interleaved: bool,
    /// Why not all is there.
    gaps: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Block {
    elements: usize,
    bytes: usize,
}

/// How weights of a type are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Products {
    /// Where they lie: one token, many of them, slices of a stack.
    InPlace,
    /// As BF16, to which they are expanded when they are loaded.
    Expanded,
    None,
}

/// What [`Products::InPlace`] is, in a cell.
const IN_PLACE: &str = "dot, matmul, indexed";

impl Support {
    fn of_this_version() -> Self {
        let last = GgmlType::ALL.iter().map(|ty| ty.id()).max().unwrap_or(0);
        let types = (0..=last).filter_map(|id| match GgmlType::from_id(id) {
            Ok(ty) => Some(Type::known(ty)),
            Err(TypeIdError::Removed { id, name }) => Some(Type::removed(id, name)),
            Err(TypeIdError::Unknown { .. }) => None,
        });
        Self { tiers: Tier::names(), types: types.collect(), four_bit: PathKind::ALL.map(FourBit::of).into() }
    }
}

impl Type {
    /// Tries everything on one block.
    fn known(ty: GgmlType) -> Self {
        let (elements, bytes) = (ty.block_len(), ty.block_bytes());
        let mut block = vec![0; bytes];
        let encode = encode_row(ty, &vec![0.0; elements], &mut block).is_ok();
        let matrix = Matrix::new(ty, 1, elements, &block);
        let products = match &matrix {
            Ok(matrix) if WeightStack::new(&[*matrix], Residency::Strict).is_ok() => Products::InPlace,
            Ok(_) => Products::Expanded,
            Err(_) => Products::None,
        };
        let (interleaved, mut gaps) = (Interleaved::supports(ty), Vec::new());
        match &matrix {
            Err(_) if matches!(ty, GgmlType::Q8_1 | GgmlType::Q8_K) => gaps.push("activations, never stored".into()),
            Err(_) => gaps.push("no decoder: listed, and refused as weights".into()),
            Ok(matrix) => {
                if let Ok(Some((_, reason))) = Weight::new(*matrix, Residency::Keep).map(|weight| weight.expansion()) {
                    gaps.push(format!("{reason}: expanded to BF16, refused by --strict"));
                }
                if !encode {
                    gaps.push("no encoder: only read".into());
                }
                if products == Products::InPlace && !interleaved {
                    gaps.push(match ty {
                        GgmlType::Q6_K => "not interleaved: slower than in place".into(),
                        _ => "not interleaved: floats, nothing to unpack".into(),
                    });
                }
            }
        }
        Self {
            id: ty.id(),
            name: ty.name(),
            block: Some(Block { elements, bytes }),
            decode: matrix.is_ok(),
            encode,
            activations: ActFormat::for_weights(ty).map(|format| format.to_string()),
            products,
            interleaved,
            gaps,
        }
    }

    fn removed(id: u32, name: &'static str) -> Self {
        Self {
            id,
            name,
            block: None,
            decode: false,
            encode: false,
            activations: None,
            products: Products::None,
            interleaved: false,
            gaps: vec!["removed from ggml".into()],
        }
    }
}

impl FourBit {
    fn of(path: PathKind) -> Self {
        let (name, activations) = match path {
            PathKind::W4A16 => ("W4A16", "bf16"),
            PathKind::W4A8 => ("W4A8", "int8"),
            PathKind::Int4 => ("int4", "int8"),
            PathKind::Fallback => ("wna16", "bf16"),
        };
        let amx_tokens = Amx::PATHS.contains(&path).then_some(Amx::TOKENS);
        let gaps = if amx_tokens.is_none() { vec!["amx multiplies int8 alone".into()] } else { Vec::new() };
        Self { name, activations, amx_tokens, gaps }
    }
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let yes = |can: bool| if can { "yes" } else { "-" };
        let tier = |name: &str, cell: &str| format!("{cell:width$}", width = name.len().max(IN_PLACE.len()));
        let tiers = |cell: &dyn Fn(&'static str) -> &'static str| {
            self.tiers.iter().map(|name| tier(name, cell(name))).collect::<Vec<_>>().join("  ")
        };
        let mut rows = vec![
            [
                "id",
                "type",
                "block",
                "bytes",
                "decode",
                "encode",
                "interleaved",
                "activations",
                &tiers(&|name| name),
                "gaps",
            ]
            .map(str::to_owned),
        ];
        rows.extend(self.types.iter().map(|ty| {
            let products = match ty.products {
                Products::InPlace => IN_PLACE,
                Products::Expanded => "as BF16",
                Products::None => "-",
            };
            let (elements, bytes) = match &ty.block {
                Some(block) => (block.elements.to_string(), block.bytes.to_string()),
                None => ("-".into(), "-".into()),
            };
            [
                ty.id.to_string(),
                ty.name.to_owned(),
                elements,
                bytes,
                yes(ty.decode).to_owned(),
                yes(ty.encode).to_owned(),
                yes(ty.interleaved).to_owned(),
                ty.activations.clone().unwrap_or("-".into()),
                tiers(&|_| products),
                ty.gaps.join("; "),
            ]
        }));
        let (left, right) = (Align::Left, Align::Right);
        f.write_str(&aligned([right, left, right, right, left, left, left, left, left, left], &rows))?;
        let mut rows = vec![["format", "activations", "every tier", "amx", "gaps"].map(str::to_owned)];
        rows.extend(self.four_bit.iter().map(|format| {
            let amx = format.amx_tokens.map_or("-".into(), |tokens| format!("{tokens} tokens and more"));
            [format.name.into(), format.activations.into(), "matmul".into(), amx, format.gaps.join("; ")]
        }));
        write!(f, "\n{}", aligned([left; 5], &rows))
    }
}

#[cfg(test)]
mod tests {
    use keepq_act::ActBuf;
    use keepq_gemm::{Driver, Route, Scratch, Serial};

    use super::*;

    #[test]
    fn what_each_type_can_do() {
        insta::assert_snapshot!(Support::of_this_version().to_string());
    }

    /// `m` tokens by 19 rows, of bytes that are a weight of every type: as a matrix, and as the slice of a stack.
    fn products(ty: GgmlType, residency: Residency, tier: Tier, m: usize) -> [Vec<u32>; 2] {
        let (n, k) = (19, ty.block_len() * 3);
        let bytes = vec![0x3c; n * ty.row_bytes(k).expect("whole blocks")];
        let matrix = Matrix::new(ty, n, k, &bytes).expect("a type that decodes");
        let (x, mut buffer, mut scratch) = (vec![1.0; m * k], ActBuf::new(), Scratch::new());
        let (mut x, driver) = (buffer.share(m, k, &x), Driver::new(tier, &Serial));
        let mut results = [vec![f32::NAN; m * n], vec![f32::NAN; m * n]];
        let weight = Weight::new(matrix, residency).expect("products are promised");
        weight.matmul(&driver, &mut x, &mut results[0], &mut scratch).expect("shapes that fit");
        let stack = WeightStack::new(&[matrix], residency).expect("products are promised");
        let routes: Vec<_> = (0..m as u32).map(|row| Route { row, slice: 0 }).collect();
        stack.matmul_indexed(&driver, &mut x, &routes, &mut results[1], &mut scratch).expect("shapes that fit");
        results.map(|y| y.into_iter().map(f32::to_bits).collect())
    }

    #[test]
    fn products_are_there_on_every_tier_of_this_machine() {
        for row in Support::of_this_version().types {
            let residency = match row.products {
                Products::InPlace => Residency::Strict,
                Products::Expanded => Residency::Keep,
                Products::None => continue,
            };
            let ty = GgmlType::from_id(row.id).expect("a type that multiplies");
            for m in [1, 17] {
                let want = products(ty, residency, Tier::PORTABLE, m);
                assert_eq!(want[0], want[1], "{ty} m = {m}");
                assert!(want[0].iter().all(|&y| y != 0 && f32::from_bits(y).is_finite()), "{ty}");
                for tier in Tier::available() {
                    assert_eq!(products(ty, residency, tier, m), want, "{ty} {tier} m = {m}");
                }
            }
        }
    }

    #[test]
    fn every_gap_has_a_reason() {
        let Support { types, four_bit, .. } = Support::of_this_version();
        for format in four_bit {
            assert_eq!(format.amx_tokens.is_some(), format.gaps.is_empty(), "{format:?}");
        }
        for ty in types {
            let whole = ty.decode && ty.encode && ty.products == Products::InPlace && ty.interleaved;
            assert_eq!(whole, ty.gaps.is_empty(), "{ty:?}");
            assert_eq!(ty.products == Products::InPlace, ty.activations.is_some(), "{ty:?}");
        }
    }
}
