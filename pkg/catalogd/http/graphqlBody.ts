import { isObject } from "../../api/jsonObject.ts";
import { JsonScanner } from "../../fbc/documentScanner.ts";
import type { QueryRequest } from "../graphql/queryRequest.ts";

/**
 * The query in the body of a request: its first JSON value, whatever follows; members are found whatever the case of their letters, others passed over. A
 * body without a query has an empty one.
 * @returns undefined for what is no JSON object, and for a member of a wrong type.
 * @see Go 1.26 encoding/json Decoder.Decode
 */
export function graphqlBody(bytes: Uint8Array): QueryRequest | undefined {
  const value = firstObject(bytes);
  if (value === undefined) return undefined;
  const member = (name: string): unknown => Object.entries(value).findLast(([key]) => key.toLowerCase() === name)?.[1] ?? undefined;
  const query = member("query") ?? "";
  // An operation without a name is none, as for most servers.
  const operationName = member("operationname") || undefined;
  const variables = member("variables");
  if (typeof query !== "string") return undefined;
  if (operationName !== undefined && typeof operationName !== "string") return undefined;
  if (variables !== undefined && !isObject(variables)) return undefined;
  return { query, operationName, variables };
}

function firstObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const scan = new JsonScanner().scan(text);
  // For Go `null` is an object without members.
  if (scan.kind === "other" && /^null(?![\w$])/.test(text.toString("latin1", scan.start, scan.start + 5))) return {};
  if (scan.kind !== "object") return undefined;
  try {
    const value: unknown = JSON.parse(text.toString("utf8", scan.start, scan.end));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
