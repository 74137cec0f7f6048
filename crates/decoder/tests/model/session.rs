//! One forward pass after another: bits that do not depend on how, errors that leave the context as it was.

use std::time::{Duration, Instant};

use keepq_decoder::{Logits, Model, Sampler, Session, SessionError, Settings, generate};
use keepq_dot::{Portable, dot_float};
use keepq_gemm::Residency;
use keepq_gguf::Gguf;
use keepq_simd::Tier;

use crate::tiny::{Key, Tiny, VOCABULARY};

const TOKENS: [u32; 9] = [3, 14, 15, 9, 26, 5, 35, 8, 9];

/// The logits after each token, fed in pieces of these lengths.
fn logits(model: &Model<'_>, settings: &Settings, pieces: &[usize]) -> Vec<u32> {
    let mut session = Session::new(model, settings.driver(), TOKENS.len()).unwrap();
    let mut tokens = &TOKENS[..];
    let mut all = Vec::new();
    for &piece in pieces {
        let (now, later) = tokens.split_at(piece);
        all.extend(session.feed(now, Logits::All).unwrap().iter().map(|v| v.to_bits()));
        tokens = later;
    }
    assert!(tokens.is_empty());
    all
}

const ARCHITECTURES: [&str; 5] = ["llama", "qwen2", "qwen3", "qwen3moe", "gemma3"];

#[test]
fn bits_depend_on_no_tier_thread_count_or_cut() {
    for architecture in ARCHITECTURES {
        let file = Tiny::of(architecture).write();
        let gguf = Gguf::parse(&file).unwrap();
        for residency in [Residency::Keep, Residency::ExpandKn] {
            let model = Model::load(&gguf, residency).unwrap();
            let serial = Settings::new(Tier::PORTABLE, 1, residency).unwrap();
            let want = logits(&model, &serial, &[9]);
            assert_eq!(want.len(), TOKENS.len() * VOCABULARY);
            for tier in Tier::available() {
                for threads in [1, 2, 4] {
                    let settings = Settings::new(tier, threads, residency).unwrap();
                    for pieces in [&[9][..], &[1; 9], &[4, 5], &[3, 1, 3, 2]] {
                        let got = logits(&model, &settings, pieces);
                        assert_eq!(got, want, "{architecture}, {tier}, {threads} threads, {pieces:?}");
                    }
                }
            }
        }
    }
}

/// Several at a time, on threads of their own and on threads that they share.
#[test]
fn decoders_in_one_process_do_not_disturb_each_other() {
    let file = Tiny::of("llama").write();
    let gguf = Gguf::parse(&file).unwrap();
    let model = &Model::load(&gguf, Residency::Keep).unwrap();
    let settings = || Settings::new(Tier::best(), 2, Residency::Keep).unwrap();
    let want = &logits(model, &settings(), &[9]);
    let shared = &settings();
    std::thread::scope(|scope| {
        for (i, pieces) in [&[9][..], &[1; 9], &[4, 5], &[3, 1, 3, 2]].into_iter().enumerate() {
            scope.spawn(move || {
                let own = settings();
                for turn in 0..20 {
                    let settings = if (i + turn) % 2 == 0 { shared } else { &own };
                    assert!(logits(model, settings, pieces) == *want, "{pieces:?}, turn {turn}");
                }
            });
        }
    });
}

/// Blocks of attention begin and end within batches, and so do windows.
#[test]
fn a_long_prompt_has_the_same_bits_however_it_is_cut() {
    let tokens: Vec<u32> = (0..512).map(|i| (i * i + 7 * i) % VOCABULARY as u32).collect();
    for (architecture, window) in [("llama", None), ("gemma3", Some(100))] {
        let mut tiny = Tiny::of(architecture);
        if let Some(window) = window {
            tiny = tiny.set("gemma3.attention.sliding_window", Key::U32(window));
        }
        let file = tiny.write();
        let gguf = Gguf::parse(&file).unwrap();
        let model = Model::load(&gguf, Residency::Keep).unwrap();
        let run = |tier, threads, piece| {
            let settings = Settings::new(tier, threads, Residency::Keep).unwrap();
            let mut session = Session::new(&model, settings.driver(), tokens.len()).unwrap();
            let mut all = Vec::new();
            for tokens in tokens.chunks(piece) {
                all.extend(session.feed(tokens, Logits::All).unwrap().iter().map(|v| v.to_bits()));
            }
            all
        };
        let want = run(Tier::best(), 1, 512);
        assert_eq!(want.len(), 512 * VOCABULARY);
        for tier in Tier::available() {
            for (threads, piece) in [(1, 1), (2, 512), (4, 128), (2, 100)] {
                assert!(
                    run(tier, threads, piece) == want,
                    "{architecture}, {tier}, {threads} threads, {piece} at a time"
                );
            }
        }
    }
}

#[test]
fn the_expanded_arms_agree_bit_for_bit() {
    for architecture in ARCHITECTURES {
        let file = Tiny::of(architecture).write();
        let gguf = Gguf::parse(&file).unwrap();
        let [kn, nk, reference] = [Residency::ExpandKn, Residency::ExpandNk, Residency::Reference].map(|residency| {
            let settings = Settings::new(Tier::best(), 2, residency).unwrap();
            logits(&Model::load(&gguf, residency).unwrap(), &settings, &[5, 4])
        });
        assert_eq!(kn, reference, "{architecture}");
        assert_eq!(nk, reference, "{architecture}");
    }
}

#[test]
fn the_last_logits_are_the_last_of_all() {
    let file = Tiny::new().write();
    let gguf = Gguf::parse(&file).unwrap();
    let model = Model::load(&gguf, Residency::Keep).unwrap();
    let settings = Settings::new(Tier::best(), 1, Residency::Keep).unwrap();
    let all = logits(&model, &settings, &[9]);
    let mut session = Session::new(&model, settings.driver(), TOKENS.len()).unwrap();
    let last: Vec<u32> = session.feed(&TOKENS, Logits::Last).unwrap().iter().map(|v| v.to_bits()).collect();
    assert_eq!(last, all[all.len() - VOCABULARY..]);
}

#[test]
fn what_cannot_be_fed_leaves_the_context_alone() {
    let file = Tiny::new().write();
    let gguf = Gguf::parse(&file).unwrap();
    let model = Model::load(&gguf, Residency::Keep).unwrap();
    let settings = Settings::new(Tier::best(), 1, Residency::Keep).unwrap();
    let mut session = Session::new(&model, settings.driver(), 4).unwrap();
    session.feed(&[1, 2], Logits::Last).unwrap();
    for capacity in [usize::MAX, usize::MAX / 64] {
        let error = Session::new(&model, settings.driver(), capacity).unwrap_err();
        assert_eq!(error, SessionError::NoMemory { capacity });
    }
    assert_eq!(session.feed(&[], Logits::Last), Err(SessionError::NoTokens));
    let vocabulary = VOCABULARY;
    assert_eq!(session.feed(&[3, 50], Logits::Last), Err(SessionError::NoSuchToken { id: 50, vocabulary }));
    assert_eq!(session.feed(&[3; 3], Logits::Last), Err(SessionError::ContextFull { capacity: 4, needed: 5 }));
    assert_eq!(session.positions(), 2);
    assert_eq!(session.cache_bytes(), 2 * 2 * 64 * 32 * 2, "two layers of keys and values of a block of positions");
    session.feed(&[3; 2], Logits::Last).unwrap();
}

#[test]
fn generation_is_the_choice_of_each_step_fed_back() {
    let file = Tiny::new().write();
    let gguf = Gguf::parse(&file).unwrap();
    let model = Model::load(&gguf, Residency::Keep).unwrap();
    let settings = Settings::new(Tier::best(), 1, Residency::Keep).unwrap();
    let mut session = Session::new(&model, settings.driver(), 16).unwrap();
    let ids = generate(&mut session, &mut Sampler::greedy(), &TOKENS[..4], 6, |_| true).unwrap();
    assert_eq!((ids.len(), session.positions()), (6, 4 + 5), "the last token is not fed");

    let mut session = Session::new(&model, settings.driver(), 16).unwrap();
    let mut context = TOKENS[..4].to_vec();
    for &id in &ids {
        let mut fresh = Session::new(&model, settings.driver(), 16).unwrap();
        let logits = fresh.feed(&context, Logits::Last).unwrap();
        assert_eq!(Sampler::greedy().sample(logits), Some(id));
        context.push(id);
    }
    let stop = ids[2];
    let stopped = generate(&mut session, &mut Sampler::greedy(), &TOKENS[..4], 6, |id| id != stop).unwrap();
    let first = ids.iter().position(|&id| id == stop).unwrap();
    assert_eq!(stopped, ids[..=first]);
    assert_eq!(generate(&mut session, &mut Sampler::greedy(), &[1], 0, |_| true), Ok(vec![]));
    let full = generate(&mut session, &mut Sampler::greedy(), &[1; 12], 9, |_| true);
    assert!(matches!(full, Err(SessionError::ContextFull { .. })));
}

/// A model of no layers is its embedding, a norm and the head: small enough to compute by hand.
#[test]
fn a_model_without_a_choice_of_order_is_what_the_formula_says() {
    let mut tiny = Tiny::new();
    tiny.tensors.retain(|tensor| !tensor.name.starts_with("blk.1."));
    for tensor in &mut tiny.tensors {
        // Nothing is added to the residual stream.
        if tensor.name.ends_with("attn_output.weight") || tensor.name.ends_with("ffn_down.weight") {
            tensor.bytes.fill(0);
        }
    }
    let file = tiny
        .replace("token_embd.weight", keepq_blocks::GgmlType::F32, VOCABULARY, 64)
        .set("llama.block_count", Key::U32(1))
        .write();
    let gguf = Gguf::parse(&file).unwrap();
    let model = Model::load(&gguf, Residency::Keep).unwrap();
    let settings = Settings::new(Tier::PORTABLE, 1, Residency::Keep).unwrap();
    let mut session = Session::new(&model, settings.driver(), 2).unwrap();
    let got = session.feed(&[7, 11], Logits::Last).unwrap().to_vec();

    let row = |name: &str, i: usize| {
        let matrix = gguf.require_tensor(name).unwrap().matrix().unwrap();
        let mut row = vec![0.0; matrix.k()];
        matrix.decode_row(i, &mut row).unwrap();
        row
    };
    let (x, weight) = (row("token_embd.weight", 11), row("output_norm.weight", 0));
    let mean = x.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / 64.0;
    let normed: Vec<f32> =
        x.iter().zip(&weight).map(|(x, w)| (f64::from(*x) / (mean + 1e-5).sqrt() * f64::from(*w)) as f32).collect();
    for (id, got) in got.iter().enumerate() {
        let want = dot_float(Portable, &row("token_embd.weight", id)[..], &normed);
        assert!((got - want).abs() < 1e-4, "token {id}: {got}, {want} expected");
    }
}

/// Every part takes some time, and all together no more than passed; the bits are those without a profile.
#[test]
fn a_profile_says_where_the_time_goes() {
    for architecture in ["llama", "qwen3moe"] {
        let file = Tiny::of(architecture).write();
        let gguf = Gguf::parse(&file).unwrap();
        let model = Model::load(&gguf, Residency::Keep).unwrap();
        let settings = Settings::new(Tier::best(), 2, Residency::Keep).unwrap();
        let mut plain = Session::new(&model, settings.driver(), 16).unwrap();
        let mut session = Session::new(&model, settings.driver(), 16).unwrap().profiled();
        assert_eq!(plain.take_profile(), None);
        for tokens in [&TOKENS[..], &[7]] {
            let start = Instant::now();
            let logits = session.feed(tokens, Logits::Last).unwrap().to_vec();
            let elapsed = start.elapsed();
            let profile = session.take_profile().expect("a profile");
            let parts = [profile.matmul, profile.attention, profile.other];
            assert!(parts.iter().all(|part| !part.is_zero()), "{architecture}: {profile:?}");
            assert!(parts.iter().sum::<Duration>() <= elapsed, "{architecture}: {profile:?} of {elapsed:?}");
            assert_eq!(logits, plain.feed(tokens, Logits::Last).unwrap(), "{architecture}");
        }
    }
}
