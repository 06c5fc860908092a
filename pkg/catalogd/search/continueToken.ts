import * as z from "zod";

/** Where a search goes on. */
export interface SearchPosition {
  /** Of the last entry that was told. */
  readonly catalog: string;
  readonly package: string;
  /** Identifies what is searched for. */
  readonly query: string;
  /** Identifies the content that is searched. */
  readonly content: string;
}

const Token = z.tuple([z.literal(1), z.string(), z.string(), z.string(), z.string()]);
const MAX_TOKEN = 4_096;

/** The position as a text without meaning for the client. */
export function continueToken({ query, content, catalog, package: name }: SearchPosition): string {
  return Buffer.from(JSON.stringify([1, query, content, catalog, name] satisfies z.input<typeof Token>)).toString("base64url");
}

/** The position in a text that `continueToken` gave; undefined for any other. */
export function positionIn(token: string): SearchPosition | undefined {
  if (token.length > MAX_TOKEN || !/^[\w-]+$/.test(token)) return undefined;
  const parsed = Token.safeParse(parsedJson(Buffer.from(token, "base64url").toString("utf8")));
  if (!parsed.success) return undefined;
  const [, query, content, catalog, name] = parsed.data;
  return { query, content, catalog, package: name };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
