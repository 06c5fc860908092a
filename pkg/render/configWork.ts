import { Reason } from "../api/constants.ts";
import type { StrategyDeployment } from "../bundle/types.ts";
import { TerminalError } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { excerpt } from "../fbc/boundedTexts.ts";
import { compileSelector } from "../resolve/selector.ts";
import type { DeploymentConfig } from "./config.ts";
import { CONFIG_LIMITS, INVALID_CONFIG } from "./configLimits.ts";
import { deploymentLabels } from "./deploymentConfig.ts";

/** How much a value of a member costs where it goes: maps cost more than lists, and so do lists whose items are compared. */
type Costs = Readonly<Partial<Record<keyof DeploymentConfig, number>>>;

const OF_CONTAINERS: Costs = { env: 1, envFrom: 2, volumeMounts: 1, resources: 2, trustedCA: 1 };
/** Annotations go on the Deployment too. */
const OF_PODS: Costs = { volumes: 1, tolerations: 2, nodeSelector: 2, affinity: 1, annotations: 3 };

/** Characters that are copied and written in about the time that a value takes. */
const CHARACTERS_OF_A_VALUE = 64;

/**
 * Returns, for each Deployment, the configurations that its labels choose, in their order. Each selector is checked and prepared once.
 *
 * Work is counted before any is done: for each Deployment the requirements of all selectors, and for each configuration that it gets the values of
 * this one and of those before it, once for the Pod and once for each container. Long texts, and values that cost more, count as
 * several.
 * @throws TerminalError InvalidConfiguration above the limit on work; names the limit and the Deployment where it was exceeded.
 */
export function chooseConfigs(deployments: readonly StrategyDeployment[], configs: readonly DeploymentConfig[]): DeploymentConfig[][] {
  const prepared = configs.map((config) => ({
    config,
    selector: compileSelector(config.selector),
    ofContainer: valuesOf(config, OF_CONTAINERS),
    ofPod: valuesOf(config, OF_PODS),
  }));
  let work = 0;
  return deployments.map((deployment, index) => {
    const { label, spec } = deployment;
    const labels = deploymentLabels({ label, spec });
    const { containers, initContainers } = spec.template.spec;
    const chosen: DeploymentConfig[] = [];
    let values = 0;
    for (const { config, selector, ofContainer, ofPod } of prepared) {
      work += selector.requirements;
      if (selector.matches(labels)) {
        chosen.push(config);
        values += ofPod + ofContainer * ((containers?.length ?? 0) + (config.includeInitContainers ? (initContainers?.length ?? 0) : 0));
        work += values;
      }
      if (work > CONFIG_LIMITS.work) throw tooMuchWork(deployment.name, index + 1, deployments.length);
    }
    return chosen;
  });
}

function valuesOf(config: DeploymentConfig, costs: Costs): number {
  const members = Object.entries(costs) as [keyof DeploymentConfig, number][];
  return Math.ceil(members.reduce((sum, [member, cost]) => sum + cost * weightOf(config[member]), 0));
}

/** One for each value, and what its text and its name take; `checkConfigSize` has bounded number and nesting. */
function weightOf(value: unknown): number {
  if (value === undefined) return 0;
  if (typeof value === "string") return 1 + value.length / CHARACTERS_OF_A_VALUE;
  if (typeof value !== "object" || value === null) return 1;
  return Object.entries(value).reduce((sum, [name, item]) => sum + weightOf(item) + name.length / CHARACTERS_OF_A_VALUE, 1);
}

function tooMuchWork(name: string, at: number, of: number): TerminalError {
  const where = `Deployment ${goQuote(excerpt(name))}, ${at} of ${of}`;
  return new TerminalError(
    Reason.InvalidConfiguration,
    `${INVALID_CONFIG}it holds more than the ${CONFIG_LIMITS.work} values allowed, counted for each Deployment and container that gets them, up to ${where}`,
  );
}
