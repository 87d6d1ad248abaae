//! What predicting a batch costs, told before it.

use tacit_nn::execute::Batch;
use tacit_protocols::material_portions::MaterialPortions;

use super::Compiled;
use crate::Error;
use crate::instance::Instance;
use crate::job::Planned;
use crate::large_errors::check_truncation;
use crate::predict::memory::Predicted;
use crate::predict::setup::setup;
use crate::predict::{predicted, rehearsed};
use crate::rehearsal::Rehearsal;
use crate::report::PredictedCost;
use crate::settings::Settings;
use crate::speeds::Speeds;

impl Compiled {
    /// The declared cost of predicting one batch of `items`, without running anything.
    pub fn predict_cost(&self, settings: &Settings, items: usize) -> Result<PredictedCost, Error> {
        self.predict_time(settings, items, None)
    }

    /// The declared cost of predicting one batch of `items`, with the seconds of computing that a rehearsal took: of
    /// as many items, or of fewer where the speeds of this machine are known, too.
    pub fn predict_rehearsed(
        &self,
        settings: &Settings,
        items: usize,
        rehearsal: &Rehearsal,
        speeds: Option<&Speeds>,
    ) -> Result<PredictedCost, Error> {
        let cost = self.predict_time(settings, items, speeds)?;
        let computing = match (rehearsal.items == items, speeds) {
            (true, _) => rehearsal.seconds,
            (false, None) => {
                let why = "it is of another number of items, and speeds are not given";
                return Err(Error::setting("rehearsal", why));
            }
            (false, Some(_)) => {
                let fewer = self.predict_time(settings, rehearsal.items, speeds)?;
                let [here, told] = [&fewer, &cost].map(|cost| cost.computing.unwrap_or_default());
                rehearsal.scaled(&here, &told)
            }
        };
        Ok(rehearsed(cost, &settings.network, computing))
    }

    /// The declared cost of predicting one batch of `items`, without running anything. With the speeds
    /// of this machine it includes the seconds of computing.
    pub fn predict_time(
        &self,
        settings: &Settings,
        items: usize,
        speeds: Option<&Speeds>,
    ) -> Result<PredictedCost, Error> {
        let plan = self.plan_for(settings.protocol)?;
        let instance =
            Instance::new(settings, Some(plan.modulus.bits()))?.comparing(plan.compare_bits);
        check_truncation(&instance, plan)?;
        let roles = settings.roles(instance.parties)?;
        let most = instance.portion_bytes();
        let batch = Batch::within(most, items, plan, &roles, &*instance.cost()?)?;
        let stages = plan.calls(batch, &roles)?;
        let layers = stages.iter().map(|stage| &stage.calls[..]);
        let portions = MaterialPortions::new(layers.clone(), &*instance.cost()?, most)?;
        let mut cost = predicted(&instance, &settings.network, layers, &portions, speeds)?;
        let planned = Planned {
            graph: &self.graph,
            plan,
        };
        let before = setup(planned, &instance, settings, portions.calls(), speeds)?;
        for (seconds, setup) in [
            (&mut cost.computing, before.computing),
            (&mut cost.expected, before.expected),
        ] {
            seconds.iter_mut().for_each(|seconds| seconds.setup = setup);
        }
        let batch = Predicted {
            plan,
            roles: &roles,
            items,
            stages: &stages,
            portions: &portions,
            compiling: self.compiling,
        };
        Ok(PredictedCost {
            setup: Some(before.phase),
            memory: Some(batch.memory(instance.parties, &*instance.cost()?)?),
            ..cost
        })
    }
}
