//! [`generate`]: a prompt, then token after token.

use crate::{Logits, Sampler, Session, SessionError};

/// Feeds `prompt`, then samples up to `tokens` tokens, each fed back in turn. `next` sees each as it comes and says
/// whether to go on. Returns the tokens sampled, the last one included.
///
/// # Errors
/// [`SessionError`], as [`Session::feed`].
pub fn generate(
    session: &mut Session<'_, '_>,
    sampler: &mut Sampler,
    prompt: &[u32],
    tokens: usize,
    mut next: impl FnMut(u32) -> bool,
) -> Result<Vec<u32>, SessionError> {
    let mut ids = Vec::new();
    let mut input = prompt;
    let mut last;
    while ids.len() < tokens {
        let logits = session.feed(input, Logits::Last)?;
        let Some(id) = sampler.sample(logits) else { return Err(SessionError::NotANumber) };
        ids.push(id);
        if !next(id) {
            break;
        }
        last = [id];
        input = &last;
    }
    Ok(ids)
}
