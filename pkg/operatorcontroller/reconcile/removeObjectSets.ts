import { findLastDeployed } from "../../release/record.ts";
import type { Applied, ReconcileStep } from "../state/phases.ts";
import type { Services } from "./services.ts";

/**
 * Removes the object sets of the Go operator-controller after a release of ours has replaced the owner references of their
 * objects. The objects stay.
 */
export function removeObjectSets({ objectSets }: Pick<Services, "objectSets">): ReconcileStep<Applied> {
  return {
    name: "RemoveObjectSets",
    async run(phase, { signal }) {
      const { changes, extension, releases } = phase;
      const deployed = changes.deployed ?? findLastDeployed(releases.history.current);
      if (deployed) await objectSets?.remove(extension, deployed, signal);
      return phase;
    },
  };
}
