import { goQuote } from "../../../pkg/golang/quote.ts";

/** Texts `KEY=VALUE` as a record. @throws Error for one without a key. */
export function keyValues(what: string, texts: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf("=");
      if (at <= 0) throw new Error(`invalid ${what} ${goQuote(text)}: KEY=VALUE is expected`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}
