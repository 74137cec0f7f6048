//! [`Peers`]: who multiplies beside us.

use anyhow::{Context, Result};

use super::super::peer::Build;
use super::case::{Case, Type};
use super::data::{Data, DataFolder};
use super::options::Options;
use super::peer_process::PeerProcess;
use super::{candle, ik_run, python};

/// Who multiplies beside us.
pub(super) struct Peers {
    pub(super) all: Vec<Peer>,
    folder: DataFolder,
}

/// One of them.
pub(super) struct Peer {
    pub(super) process: PeerProcess,
    /// Whether it has something like a type.
    multiplies: fn(Type) -> bool,
    /// Whether it is to be told of the operands in files.
    needs_data: bool,
}

impl Peers {
    pub(super) fn start(args: &Options, builds: &[Build], threads: usize) -> Result<Self> {
        // What makes the operands itself, and what does not.
        let blocks = |ty| matches!(ty, Type::Blocks(_));
        let own = |process| Peer { process, multiplies: blocks, needs_data: false };
        let told = |process, multiplies| Peer { process, multiplies, needs_data: true };
        let mut all = Vec::new();
        for build in builds {
            all.push(own(PeerProcess::llama(build)?));
        }
        if let Some(folder) = &args.ik_llama {
            all.extend(ik_run::start(folder).context("--ik-llama")?.map(own));
        }
        if let Some(cpu) = &args.candle {
            all.extend(candle::start(cpu, threads).context("--candle")?.map(|process| told(process, blocks)));
        }
        if let Some(program) = &args.onnxruntime {
            let process = python::onnxruntime(program).context("--onnxruntime")?;
            all.extend(process.map(|process| told(process, python::onnxruntime_multiplies)));
        }
        if let Some(program) = &args.torch {
            let process = python::torch(program).context("--torch")?;
            all.extend(process.map(|process| told(process, python::torch_multiplies)));
        }
        Ok(Self { all, folder: DataFolder::new()? })
    }

    /// Those that have this type, and what they are to be told of the operands.
    pub(super) fn of(
        &mut self,
        case: &Case,
        write: &dyn Fn(&DataFolder) -> Result<Data>,
    ) -> Result<Vec<(&mut PeerProcess, Option<Data>)>> {
        let peers = self.all.iter_mut().filter(|peer| (peer.multiplies)(case.ty)).collect::<Vec<_>>();
        let needed = peers.iter().any(|peer| peer.needs_data);
        let data = needed.then(|| write(&self.folder)).transpose()?;
        Ok(peers.into_iter().map(|peer| (&mut peer.process, data.clone().filter(|_| peer.needs_data))).collect())
    }
}
