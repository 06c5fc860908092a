import * as z from "zod";
import { getErrorMessage } from "../errors/errors.ts";
import { parseYamlDocuments } from "../golang/yaml.ts";
import type { TableCatalog } from "./catalogTable.ts";
import { PROFILES, type Profile } from "./profiles.ts";
import { ScenarioCatalog, toTableCatalog } from "./scenarioCatalog.ts";
import type { DefinitionVersions } from "./tableBundle.ts";
import { VOCABULARY, type Word } from "./vocabulary.ts";

/** A step of a scenario: its sentence, and the action or check. */
interface Step {
  readonly text: string;
  readonly word: Word;
  readonly argument: unknown;
}

/** A sequence of steps for one ClusterExtension and its catalogs. */
export interface Scenario {
  /** Unique; part of the names of its objects. */
  readonly id: string;
  /** A sentence that states the expectation. */
  readonly name: string;
  /** The name of its file, such as "resolution". */
  readonly group: string;
  readonly profile: Profile;
  /** The document or test that requires this behavior: its public address, or a page in docs for behavior that only olmv1 has. */
  readonly source: string;
  /** What the cluster needs, see `ClusterNeeds.findMissing`. */
  readonly needs: readonly string[];
  /** Whether it must run without others: it restarts servers, or the API server reports errors meanwhile. */
  readonly disrupts: boolean;
  /** Minimum of the time limit of each step, in milliseconds: something that it waits for takes this long. */
  readonly minTimeoutMs: number;
  /** By name. They are served before the first step. */
  readonly catalogs: ReadonlyMap<string, TableCatalog>;
  readonly definitions: DefinitionVersions;
  readonly steps: readonly Step[];
}

const STEP_KIND = /^(given|when|then|and) /;
const AnyObject = z.record(z.string(), z.unknown());

/** Names of objects are at most 63 characters, and an extension has at most 53. */
const MAX_ID = 32;

const Document = z.strictObject({
  name: z.string().min(1),
  id: z
    .string()
    .regex(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/)
    .max(MAX_ID),
  profile: z.enum(PROFILES).default("core"),
  source: z.union([z.url({ protocol: /^https$/ }), z.string().regex(/^docs\/[\w/-]+\.md(#[\w-]+)?$/)]),
  needs: z.array(z.string()).default([]),
  disrupts: z.boolean().default(false),
  minTimeoutSeconds: z.number().int().positive().default(1),
  catalogs: z.record(z.string(), ScenarioCatalog).default({}),
  definitions: z.record(z.string(), z.array(AnyObject)).default({}),
  steps: z.array(z.union([z.string(), AnyObject])).min(1),
});

/**
 * Parses the scenarios of a file.
 * @param group the name of the file
 * @throws Error with the scenario, and the step whose sentence is not in the vocabulary or whose argument is invalid.
 */
export function parseScenarios(group: string, yaml: string): Scenario[] {
  return parseYamlDocuments(yaml).map((document) => parseScenario(group, document));
}

function parseScenario(group: string, document: unknown): Scenario {
  const { id } = (document ?? {}) as { id?: unknown };
  try {
    const { catalogs, steps: given, definitions, disrupts, minTimeoutSeconds, ...rest } = Document.parse(document);
    const steps = given.map(parseStep);
    return {
      ...rest,
      group,
      disrupts: disrupts || steps.some(({ word }) => word.disrupts === true),
      minTimeoutMs: minTimeoutSeconds * 1_000,
      definitions,
      catalogs: new Map(Object.entries(catalogs).map(([name, catalog]) => [name, toTableCatalog(catalog)])),
      steps,
    };
  } catch (err) {
    const text = err instanceof z.ZodError ? z.prettifyError(err) : getErrorMessage(err);
    throw new Error(`scenario ${JSON.stringify(id ?? "")} in ${group}: ${text}`, { cause: err });
  }
}

function parseStep(step: string | Record<string, unknown>): Step {
  const [phrase = "", argument, ...more] = typeof step === "string" ? [step] : Object.entries(step).flat();
  if (typeof phrase !== "string" || more.length > 0)
    throw new Error(`a step is a sentence, or a sentence with an argument: ${JSON.stringify(step)}`);
  if (!STEP_KIND.test(phrase)) throw new Error(`a step begins with given, when, then or and: ${phrase}`);
  const word = VOCABULARY[phrase.replace(STEP_KIND, "")];
  if (!word) throw new Error(`"${phrase}" is not in the vocabulary:\n${Object.keys(VOCABULARY).join("\n")}`);
  const parsed = word.argument.safeParse(argument);
  if (!parsed.success) throw new Error(`"${phrase}": ${z.prettifyError(parsed.error)}`);
  return { text: phrase, word, argument: parsed.data };
}

/** @throws Error if two scenarios have one id */
export function requireUniqueIds(scenarios: readonly Scenario[]): void {
  const ids = scenarios.map(({ id }) => id);
  const twice = ids.find((id, i) => ids.indexOf(id) !== i);
  if (twice !== undefined) throw new Error(`two scenarios have the id ${twice}`);
}
