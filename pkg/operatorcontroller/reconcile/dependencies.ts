import { Reason } from "../../api/constants.ts";
import { newProblem } from "../../api/problems.ts";
import { TerminalError } from "../../errors/errors.ts";
import type { Property } from "../../fbc/types.ts";
import { goQuote } from "../../golang/quote.ts";
import { truncateForCondition } from "../../resolve/wording.ts";
import { requirePlanApproval } from "../apply/approval.ts";
import { WaitingError } from "../state/conditionPoller.ts";
import { type Applied, isInstalled, keepsEarlierRelease, type ReconcileStep, type Unpacked } from "../state/phases.ts";
import { awaitNextAttempt } from "./planFailure.ts";
import type { Services } from "./services.ts";

/** Carries out the plan of an extension with policy Install, and waits for the bundles of earlier waves of the plan that contains the extension. */
export function installDependencies(services: Pick<Services, "created" | "now" | "plans" | "requeueAfter">): ReconcileStep<Unpacked> {
  const { created, plans } = services;
  return {
    name: "InstallDependencies",
    async run(phase, context) {
      const { extension, bundle, plan } = phase;
      const { name } = extension.metadata;
      if (!plan || keepsEarlierRelease(phase)) return phase;
      if (plan.root === name) {
        awaitNextAttempt(services, phase, plan);
        requirePlanApproval(phase, plan);
        await created.carryOut(extension, plan, context.signal);
      }
      const waiting = plans.listWaiting(name);
      if (waiting.length === 0) return phase;
      const before = waiting.join("; ");
      const text = truncateForCondition(`waiting for the dependencies of bundle ${goQuote(bundle.name)}: ${before}`, name);
      throw new WaitingError(Reason.Retrying, text, {
        isOver: () => Promise.resolve(plans.listWaiting(name).join("; ") !== before),
        problems: [newProblem("DependenciesInstalling", { message: text, details: waiting.map((message) => ({ message })) })],
      });
    },
  };
}

/** Uninstalls the dependencies that no installed bundle needs any longer, if `spec.dependencies.unneeded` is Remove. */
export function removeUnneeded({ created }: Pick<Services, "created">): ReconcileStep<Applied> {
  return {
    name: "RemoveUnneeded",
    async run(phase, { signal }) {
      const { extension, plan } = phase;
      if (!plan && extension.spec.dependencies?.unneeded === "Remove") await created.releaseUnneeded(extension, signal);
      return phase;
    },
  };
}

/**
 * Compares the dependencies in the bundle's own metadata with the installed bundles and served APIs before anything is
 * written, because a catalog may omit them. Skips the installed bundle, and all bundles with policy Ignore.
 */
export function checkDependencies({ choice }: Pick<Services, "choice">): ReconcileStep<Unpacked> {
  return {
    name: "CheckDependencies",
    async run(phase) {
      const { extension, bundle, content, report } = phase;
      if (!content || keepsEarlierRelease(phase) || extension.spec.dependencies?.policy === "Ignore") return phase;
      const { properties, faults } = content.dependencies;
      if (faults.length > 0)
        report.problems.push(
          newProblem("BundleWarning", {
            message: `bundle ${goQuote(bundle.name)} has malformed dependencies that its author must fix: ${faults[0]}`,
          }),
        );
      if (properties.length === 0 || isInstalled(phase)) return phase;
      const stated = JSON.parse(bundle.properties ?? "[]") as Property[];
      const found = await choice.findConflict(extension, {
        package: bundle.packageName,
        name: bundle.name,
        properties: [...stated, ...properties],
      });
      if (!found) return phase;
      const text = `bundle ${goQuote(bundle.name)} is not installed: ${found.text} (according to its own metadata, not the catalog); exclude the version with spec.source.catalog.version`;
      const message = truncateForCondition(text, extension.metadata.name);
      const cause = new WaitingError(Reason.UnsatisfiedDependencies, message, { isOver: found.isOver });
      throw new TerminalError(Reason.UnsatisfiedDependencies, message, { cause });
    },
  };
}
