//! Configurations: each key counts.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use keepq_tinygemm::select::{Accelerator, Config, Path};
use keepq_tinygemm::w4a16::Layout;

fn hash(config: Config) -> u64 {
    let mut hasher = DefaultHasher::new();
    config.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn every_key_changes_the_hash_and_the_name() {
    let default = Config::default();
    assert_eq!((default.group_size, default.dequant_threshold), (64, 2));
    let others = [
        Config { group_size: 128, ..default },
        Config { quantize_embedding: false, ..default },
        Config { prefill_dequant: false, ..default },
        Config { direct_dequant: false, ..default },
        Config { dequant_threshold: 4, ..default },
        Config { use_custom_op: false, ..default },
    ];
    assert_eq!(hash(default), hash(Config::default()));
    let configs: Vec<Config> = others.into_iter().chain([default]).collect();
    assert_eq!(configs.iter().map(|config| hash(*config)).collect::<HashSet<_>>().len(), 7);

    // Nor do two paths or layouts share a name, whatever the configuration.
    let accelerator = Accelerator::Portable;
    let layouts = Layout::ALL.map(|layout| Path::W4A16 { layout, accelerator });
    let paths = [Path::W4A8 { accelerator }, Path::Int4 { accelerator }, Path::Fallback { accelerator }];
    let mut names = HashSet::new();
    for path in layouts.into_iter().chain(paths) {
        for config in &configs {
            let name = config.cache_name(path);
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c)), "{name}");
            assert!(names.insert(name));
        }
    }
    assert_eq!(names.len(), 6 * 7);
}

/// The bytes are the same whatever multiplies by them.
#[test]
fn kernels_are_no_part_of_a_name() {
    let name = |accelerator| Config::default().cache_name(Path::W4A8 { accelerator });
    assert_eq!(name(Accelerator::Amx), name(Accelerator::Portable));
}
