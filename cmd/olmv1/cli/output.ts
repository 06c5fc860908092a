import { type Command, InvalidArgumentError, Option } from "commander";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { getErrorMessage } from "../../../pkg/errors/errors.ts";
import { writeExactJson } from "../../../pkg/golang/json.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { parseJsonPath } from "./jsonPathTemplate.ts";
import type { Terminal } from "./terminal.ts";

/** Output formats: `text`; `wide` with more columns; `name` like kubectl; `json` and `yaml`; and `sarif` for findings. */
export type Form = "text" | "wide" | "name" | "json" | "yaml" | "sarif";
/** A format, or a template such as `jsonpath={.items[*].metadata.name}`, with kubectl's syntax. */
export type Output = Form | `jsonpath=${string}`;

/** The output of a command in each of its formats. */
export interface Printed {
  /** For json, yaml and jsonpath. Integers beyond 2^53 may be bigint. */
  readonly data: unknown;
  text(): string;
  /** Same as `text` if undefined. */
  wide?(): string;
  /** Resource names such as `clusterextension.olm.operatorframework.io/argocd`, one per line. */
  names?(): readonly string[];
  /** A SARIF log of the findings. */
  sarif?(): object;
}

/** Options of a command that prints Kubernetes objects. */
export interface ObjectOutputOptions {
  output: Output;
  showManagedFields?: boolean;
}

/** Declares `--show-managed-fields`. */
export function addManagedFieldsOption(command: Command): Command {
  return command.option("--show-managed-fields", "keep metadata.managedFields in JSON and YAML output");
}

/** Returns an object for printing. Like kubectl, JSON and YAML omit metadata.managedFields, unless `--show-managed-fields` is set. */
export function toPrintableObject<T extends KubeObject>(object: T, { output, showManagedFields }: ObjectOutputOptions): T {
  if (showManagedFields || (output !== "json" && output !== "yaml")) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

const JSON_PATH = "jsonpath=";

/** Adds `-o, --output` with these formats; the first is the default. A command with json also accepts jsonpath. */
export function addOutputOption(command: Command, forms: readonly Form[]): Command {
  const choices = [...forms, ...(forms.includes("json") ? [`${JSON_PATH}<template>`] : [])];
  const option = new Option("-o, --output <format>", "output format").default(forms[0] ?? "text").choices(choices);
  return command.addOption(option.argParser((value) => parseOutput(value, forms, choices)));
}

function parseOutput(value: string, forms: readonly Form[], choices: readonly string[]): Output {
  const form = forms.find((one) => one === value);
  if (form !== undefined) return form;
  if (isTemplate(value) && forms.includes("json")) return requireValidTemplate(value);
  throw new InvalidArgumentError(`Allowed choices are ${choices.join(", ")}.`);
}

/** Rejects an invalid template before the command changes anything. */
function requireValidTemplate(value: `jsonpath=${string}`): Output {
  try {
    parseJsonPath(value.slice(JSON_PATH.length));
    return value;
  } catch (err) {
    throw new InvalidArgumentError(`${getErrorMessage(err)}.`);
  }
}

function isTemplate(value: string): value is `jsonpath=${string}` {
  return value.startsWith(JSON_PATH);
}

/** Prints in the requested format. @throws Error for an invalid template. */
export async function print(terminal: Pick<Terminal, "out">, output: Output, printed: Printed): Promise<void> {
  terminal.out(await formatOutput(output, printed));
}

async function formatOutput(output: Output, printed: Printed): Promise<string> {
  if (isTemplate(output)) {
    const { formatJsonPath } = await import("./jsonPath.ts");
    return formatJsonPath(output.slice(JSON_PATH.length), printed.data);
  }
  switch (output) {
    case "json":
      return `${writeExactJson(printed.data, 2)}\n`;
    case "sarif":
      return `${writeExactJson(printed.sarif?.() ?? printed.data, 2)}\n`;
    case "yaml":
      return (await import("../../../pkg/golang/yaml.ts")).toYaml(printed.data);
    case "name":
      return (printed.names?.() ?? []).map((name) => `${name}\n`).join("");
    case "wide":
      return printed.wide?.() ?? printed.text();
    case "text":
    default:
      return printed.text();
  }
}

/** Prints each catalog that a command skipped to standard error, with the reason. */
export function printLeftOutCatalogs(
  terminal: Terminal,
  catalogs: readonly { readonly catalog: string; readonly because: string }[],
): void {
  for (const { catalog, because } of catalogs)
    terminal.err(`olmv1: skipped catalog ${escapeControlCharacters(catalog)}: ${escapeControlCharacters(because)}\n`);
}
