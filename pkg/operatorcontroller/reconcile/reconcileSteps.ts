import { StepSequence } from "../../controller/stepSequence.ts";
import type { Applied, Phase, Started } from "../state/phases.ts";
import { applyBundle, correctDrift } from "./apply.ts";
import { checkBundle, checkClusterVersion, checkRequirements, reportProxy, requireSpec, skipSuspended, validate } from "./check.ts";
import { readConfiguration } from "./configuration.ts";
import { handleDeletion } from "./delete.ts";
import { checkDependencies, installDependencies, removeUnneeded } from "./dependencies.ts";
import { ensureFinalizer, removeCollectorFinalizers } from "./finalizers.ts";
import { requestPermissions, requestSources } from "./permissions.ts";
import { pinInstalledImage } from "./pinInstalledImage.ts";
import { rollBackPlan } from "./planFailure.ts";
import { removeObjectSets } from "./removeObjectSets.ts";
import { resolveBundle, trackUnavailableCatalogs } from "./resolve.ts";
import { retrieveReleases } from "./retrieveReleases.ts";
import { pinRevision, skipRolledBackBundle } from "./rollback.ts";
import type { Services } from "./services.ts";
import { unpackBundle } from "./unpack.ts";
import { holdVetoedUpgrade } from "./upgradeVeto.ts";

/** Returns the steps that reconcile an extension, in order. */
export function reconcileSteps(services: Services): StepSequence<Started, Applied, Phase> {
  return StepSequence.from<Started, Phase>()
    .step(handleDeletion(services))
    .step(removeCollectorFinalizers(services))
    .step(requireSpec)
    .step(retrieveReleases(services))
    .step(skipSuspended(services))
    .step(ensureFinalizer(services))
    .step(validate(services))
    .step(correctDrift(services))
    .step(pinRevision(services))
    .step(rollBackPlan(services))
    .step(resolveBundle(services))
    .step(trackUnavailableCatalogs(services))
    .step(pinInstalledImage(services))
    .step(requestSources(services))
    .step(readConfiguration(services))
    .step(skipRolledBackBundle(services))
    .step(unpackBundle(services))
    .step(checkBundle(services))
    .step(reportProxy)
    .step(checkClusterVersion)
    .step(checkRequirements(services))
    .step(holdVetoedUpgrade(services))
    .step(installDependencies(services))
    .step(checkDependencies(services))
    .step(requestPermissions(services))
    .step(applyBundle(services))
    .step(removeObjectSets(services))
    .step(removeUnneeded(services));
}
