//! [`greedy`]: a prompt and the ids that llama.cpp appends to it.

use anyhow::{Context as _, Result, ensure};

use crate::foreign::llama::{ContextOptions, Model};
use crate::token_oracle::Prompt;

/// Continues `text` by the highest logit, until an id ends the generation or there are `steps` of them.
pub(super) fn greedy(model: &Model<'_>, text: &str, steps: usize) -> Result<Prompt> {
    let prompt_ids = model.tokenize(text, true, true)?;
    ensure!(!prompt_ids.is_empty(), "it has no tokens");
    let positions = u32::try_from(prompt_ids.len() + steps)?;
    let mut context = model.context(&ContextOptions { n_ctx: positions, n_batch: positions, n_threads: 1 })?;

    let (mut greedy_ids, mut top5) = (Vec::new(), Vec::new());
    let mut batch = prompt_ids.clone();
    loop {
        let last = batch.len() - 1;
        context.decode(&batch, last..last + 1)?;
        let top = highest(context.logits(last)?).with_context(|| format!("step {}", top5.len()))?;
        let id = top[0].0;
        greedy_ids.push(id);
        top5.push(top);
        if top5.len() == steps || model.is_eog(id)? {
            break;
        }
        batch = vec![id];
    }
    let mut prompt = Prompt { prompt: text.to_owned(), prompt_ids, greedy_ids, top5, min_margin: 0.0 };
    prompt.min_margin = four_decimals(prompt.leads().fold(f32::INFINITY, f32::min));
    Ok(prompt)
}

/// The five highest logits with their ids, highest first; of equals the first id comes first.
fn highest(logits: &[f32]) -> Result<[(u32, f32); 5]> {
    let mut ranked: Vec<(u32, f32)> = (0_u32..).zip(logits.iter().copied()).collect();
    for (id, logit) in &ranked {
        ensure!(logit.is_finite(), "the logit of id {id} is {logit}");
    }
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    let top = ranked.first_chunk::<5>().with_context(|| format!("the vocabulary has {} ids", logits.len()))?;
    Ok(top.map(|(id, logit)| (id, four_decimals(logit))))
}

/// As many as are stored: more would tell apart what two machines compute.
fn four_decimals(value: f32) -> f32 {
    ((f64::from(value) * 1e4).round_ties_even() / 1e4) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_five_highest_are_in_order_and_rounded() {
        let top = highest(&[1.0, -1.0, 3.0, 3.0, 0.123_46, 2.0, 0.0]).expect("seven logits");
        assert_eq!(top, [(2, 3.0), (3, 3.0), (5, 2.0), (0, 1.0), (4, 0.1235)]);
    }

    #[test]
    fn what_has_no_order_is_refused() {
        let error = |logits: &[f32]| highest(logits).expect_err("no five logits").to_string();
        assert_eq!(error(&[0.0, f32::NAN, 1.0, 2.0, 3.0]), "the logit of id 1 is NaN");
        assert_eq!(error(&[0.0; 4]), "the vocabulary has 4 ids");
    }
}
