import * as z from "zod";
import { type CatalogTable, readCatalogTable } from "../../../pkg/conformance/catalogTable.ts";
import { loadCaseFolder } from "../caseFiles.ts";
import { VOCABULARY, type Word } from "./vocabulary.ts";

/** A step of a scenario: its sentence, and the action or check. */
interface Step {
  text: string;
  word: Word;
  argument: unknown;
}

/** A sequence of steps for one ClusterExtension. */
export interface Scenario {
  /** A sentence that states the expectation. */
  name: string;
  /** Identifies the scenario in its source. */
  source: string;
  /** Name of the ClusterExtension and of the package that it installs; unique. */
  id: string;
  /** Tables by the name of the ClusterCatalog that serves them. */
  catalogs: ReadonlyMap<string, CatalogTable>;
  /** Host in the references of the bundles' images. */
  registry: string;
  steps: readonly Step[];
}

const STEP_KIND = /^(given|when|then|and) /;

const Document = z.strictObject({
  name: z.string().min(1),
  source: z.string().min(1),
  id: z.string().regex(/^[a-z]+(-[a-z]+)*$/),
  catalogs: z.record(z.string(), z.string()),
  registry: z.string().default("quay.io"),
  steps: z.array(z.union([z.string(), z.record(z.string(), z.unknown())])).min(1),
});

/**
 * All scenarios of a folder.
 * @throws Error with the scenario and the step whose words are not in the vocabulary, or for a duplicate id.
 */
export function loadScenarios(folder: string): Scenario[] {
  const scenarios = loadCaseFolder(folder).map(scenarioFrom);
  const ids = scenarios.map(({ id }) => id);
  const twice = ids.find((id, i) => ids.indexOf(id) !== i);
  if (twice !== undefined) throw new Error(`two scenarios have the id ${twice}`);
  return scenarios;
}

function scenarioFrom(document: { name: string }): Scenario {
  try {
    const { catalogs, steps, ...rest } = Document.parse(document);
    const tables = Object.entries(catalogs).map(([name, table]) => [name, readCatalogTable(table)] as const);
    return { ...rest, catalogs: new Map(tables), steps: steps.map(stepFrom) };
  } catch (err) {
    throw new Error(`scenario "${document.name}": ${err instanceof Error ? err.message : String(err)}`, { cause: err });
  }
}

function stepFrom(step: string | Record<string, unknown>): Step {
  const [phrase = "", argument, ...more] = typeof step === "string" ? [step] : Object.entries(step).flat();
  if (typeof phrase !== "string" || more.length > 0)
    throw new Error(`a step must be a sentence, or a sentence with an argument: ${JSON.stringify(step)}`);
  if (!STEP_KIND.test(phrase)) throw new Error(`a step must begin with given, when, then or and: ${phrase}`);
  const word = VOCABULARY[phrase.replace(STEP_KIND, "")];
  if (!word) throw new Error(`"${phrase}" is not in the vocabulary:\n${Object.keys(VOCABULARY).join("\n")}`);
  const parsed = word.argument.safeParse(argument);
  if (!parsed.success) throw new Error(`"${phrase}": ${z.prettifyError(parsed.error)}`);
  return { text: phrase, word, argument: parsed.data };
}
