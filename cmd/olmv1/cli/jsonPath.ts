import { JSONPath } from "jsonpath-plus";
import { getErrorMessage } from "../../../pkg/errors/errors.ts";
import { writeExactJson } from "../../../pkg/golang/json.ts";
import { isObject } from "../../../pkg/golang/members.ts";
import { type PathPiece, parseJsonPath } from "./jsonPathTemplate.ts";

/**
 * Applies a template with the syntax of kubectl to `data`: text, `{.path}`, `{"text"}`, and `{range .path}…{end}`. Missing values are empty; several
 * values of a path are separated by spaces; objects and lists are JSON.
 * @throws Error for an invalid template.
 * @see https://kubernetes.io/docs/reference/kubectl/jsonpath/
 */
export function formatJsonPath(template: string, data: unknown): string {
  return render(parseJsonPath(template), JSON.parse(writeExactJson(data)) as unknown);
}

function render(pieces: readonly PathPiece[], data: unknown): string {
  return pieces
    .map((piece) => {
      if (piece.kind === "text") return piece.text;
      const values = findValues(piece.path, data);
      return piece.kind === "path" ? values.map(formatValue).join(" ") : values.map((value) => render(piece.body, value)).join("");
    })
    .join("");
}

function findValues(path: string, data: unknown): unknown[] {
  if (path === "$") return [data];
  if (!isObject(data) && !Array.isArray(data)) return [];
  try {
    // "safe" evaluates filters without running them as code.
    return JSONPath<unknown[]>({ path, json: data, eval: "safe", wrap: true });
  } catch (err) {
    throw new Error(`jsonpath: {${path.slice(1)}}: ${getErrorMessage(err)}`, { cause: err });
  }
}

function formatValue(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
