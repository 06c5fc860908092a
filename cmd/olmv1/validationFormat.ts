import { toYaml } from "../../pkg/fbc/yaml.ts";

/** How a report can be printed. */
export const VALIDATION_FORMATS = ["text", "json", "yaml"] as const;
export type ValidationFormat = (typeof VALIDATION_FORMATS)[number];

/** A report for programs. */
export function structuredReport(report: object, format: Exclude<ValidationFormat, "text">): string {
  return format === "yaml" ? toYaml(report) : `${JSON.stringify(report, null, 2)}\n`;
}

/** A number of things, such as `1 error` and `2 errors`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
