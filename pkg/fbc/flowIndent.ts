import { YAMLException } from "js-yaml";

/** Wider than any real nesting; inside quotes and brackets leading spaces mean nothing. */
const INDENT = " ".repeat(512);
/** What may end a quoted scalar or a flow collection. */
const CLOSING = /["'\]}]/;
/** Each repair costs one more parse; this many characters are parsed again at most. */
const MAX_PARSED_AGAIN = 20_000_000;

/**
 * What `parse` makes of `text`, also where a quoted scalar or a flow collection goes on with less indentation than YAML asks for:
 * Go's parser takes that and real manifests hold it, js-yaml stops there. Such lines are indented, which does not change the value.
 * @throws what `parse` throws.
 */
export function parseWithFlowIndent<T>(text: string, parse: (text: string) => T): T {
  let repaired = text;
  for (let parsedAgain = 0; ; parsedAgain += repaired.length + INDENT.length) {
    try {
      return parse(repaired);
    } catch (err) {
      const next = parsedAgain < MAX_PARSED_AGAIN && err instanceof YAMLException ? withFlowIndent(repaired, err) : undefined;
      if (next === undefined) throw err;
      repaired = next;
    }
  }
}

/** `text` with the lines indented from where `err` says so up to the next one that could end the scalar or collection. */
function withFlowIndent(text: string, err: YAMLException): string | undefined {
  if (err.reason !== "deficient indentation" || !err.mark) return undefined;
  const start = text.lastIndexOf("\n", err.mark.position - 1) + 1;
  if (start >= text.length || text.startsWith(INDENT, start)) return undefined;
  let end = start;
  let line: string;
  do {
    const newline = text.indexOf("\n", end);
    const next = newline < 0 ? text.length : newline + 1;
    line = text.slice(end, next);
    end = next;
  } while (end < text.length && !CLOSING.test(line));
  return text.slice(0, start) + text.slice(start, end).replace(/^(?=.)/gm, INDENT) + text.slice(end);
}
