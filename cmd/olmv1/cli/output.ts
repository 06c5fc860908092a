import { type Command, InvalidArgumentError, Option } from "commander";
import { writeExactJson } from "../../../pkg/golang/json.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import type { Terminal } from "./terminal.ts";

/** Forms of an answer: `text` for people, `wide` with more columns, `name` as kubectl has it, and those for programs; `sarif` is for findings. */
export type Form = "text" | "wide" | "name" | "json" | "yaml" | "sarif";
/** A form, or a template of kubectl's for what is printed, such as `jsonpath={.items[*].metadata.name}`. */
export type Output = Form | `jsonpath=${string}`;

/** What a command has to say, in every form that it offers. */
export interface Printed {
  /** For json, yaml and jsonpath. Integers beyond 2^53 may be bigint. */
  readonly data: unknown;
  text(): string;
  /** Default: the same as text. */
  wide?(): string;
  /** Such as `clusterextension.olm.operatorframework.io/argocd`, a line each. */
  names?(): readonly string[];
  /** A log of findings. */
  sarif?(): object;
}

const JSON_PATH = "jsonpath=";

/** Declares `-o, --output` with these forms, the first of which is the default; with json also jsonpath. */
export function outputOption(command: Command, forms: readonly Form[]): Command {
  const choices = [...forms, ...(forms.includes("json") ? [`${JSON_PATH}<template>`] : [])];
  const option = new Option("-o, --output <format>", "how to print the answer").default(forms[0] ?? "text").choices(choices);
  return command.addOption(option.argParser((value) => outputOf(value, forms, choices)));
}

function outputOf(value: string, forms: readonly Form[], choices: readonly string[]): Output {
  const form = forms.find((one) => one === value);
  if (form !== undefined) return form;
  if (isTemplate(value) && forms.includes("json")) return value;
  throw new InvalidArgumentError(`Allowed choices are ${choices.join(", ")}.`);
}

function isTemplate(value: string): value is `jsonpath=${string}` {
  return value.startsWith(JSON_PATH);
}

/** Prints an answer in the form that was asked for. @throws Error for a template that cannot be understood. */
export async function print(terminal: Pick<Terminal, "out">, output: Output, printed: Printed): Promise<void> {
  terminal.out(await textOf(output, printed));
}

async function textOf(output: Output, printed: Printed): Promise<string> {
  if (isTemplate(output)) {
    const { jsonPathText } = await import("./jsonPath.ts");
    return jsonPathText(output.slice(JSON_PATH.length), printed.data);
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

/** Prints on standard error each catalog that a command left out, and why. */
export function printLeftOutCatalogs(
  terminal: Terminal,
  catalogs: readonly { readonly catalog: string; readonly because: string }[],
): void {
  for (const { catalog, because } of catalogs)
    terminal.err(`olmv1: catalog ${escapeControlCharacters(catalog)} is left out: ${escapeControlCharacters(because)}\n`);
}
