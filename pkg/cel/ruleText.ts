import { parse } from "@bufbuild/cel";

/** A parsed rule or a part of one. */
export type Expr = ReturnType<typeof parse>["expr"];
/** A loop over a list or the keys of a map, which a macro such as `exists` creates. */
export type Comprehension = Extract<Expr["exprKind"], { case: "comprehensionExpr" }>["value"];
/** A call of a function, a method or an operator. */
export type Call = Extract<Expr["exprKind"], { case: "callExpr" }>["value"];

/** A parsed rule. */
export interface ParsedRule {
  readonly expr: Expr;
  /** Returns where the expression with an id begins, as "line 1, column 8: "; empty if that is unknown. */
  readonly locate: (expression: bigint) => string;
}

type MacroCalls = NonNullable<ReturnType<typeof parse>["sourceInfo"]>["macroCalls"];

/** Maximum nesting of brackets, including those in string literals. */
const MAX_BRACKETS = 64;
const RAW = `(?<raw>[bB]?[rR](?:"""[^]*?"""|'''[^]*?'''|"[^"\\n]*"|'[^'\\n]*'))`;
const LITERAL = `(?<literal>[bB]?(?:"""(?:[^\\\\]|\\\\[^])*?"""|'''(?:[^\\\\]|\\\\[^])*?'''|"(?:[^"\\\\\\n]|\\\\[^])*"|'(?:[^'\\\\\\n]|\\\\[^])*'))`;
const TOKEN = new RegExp(`(?<comment>//[^\\n]*)|${RAW}|${LITERAL}|(?<word>\\w+)|(?<empty>\\(\\s+\\))`, "g");
const ESCAPE = /\\(?:[abfnrtv\\?"'`]|[xX][\da-fA-F]{2}|[0-3][0-7]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8})/g;
const CODE_POINT_ESCAPE = /\\[uU]/;

/**
 * Parses a rule with the library's parser. Adapts the text where that parser differs from cel-go's: it requires a newline after a comment, rejects
 * spaces between empty brackets, and accepts escapes that do not exist. Differences remain in unusual texts: spaces between repeated unary
 * operators (`! !a`), double negation of an unknown type (`!(!p.value)`), leading dots before macros, and `__result__`, the name of an accumulator.
 * @throws Error if the text is not an expression
 */
export function parseRule(text: string): ParsedRule {
  checkBrackets(text);
  const { expr, sourceInfo } = parse(adaptText(text));
  checkMacros(sourceInfo?.macroCalls ?? {});
  return { expr, locate: (expression) => formatPosition(text, sourceInfo?.positions[String(expression)]) };
}

/** @throws Error if parsing the text would take too long or overflow the stack */
function checkBrackets(text: string): void {
  let depth = 0;
  for (const char of text) {
    if ("([{".includes(char)) depth++;
    else if (")]}".includes(char)) depth--;
    if (depth > MAX_BRACKETS) throw new Error(`brackets are nested deeper than ${MAX_BRACKETS} levels`);
  }
}

/** Replaces comments with spaces, and moves spaces out of empty brackets, so that everything else keeps its position. @throws Error for an invalid escape */
function adaptText(text: string): string {
  return text.replace(TOKEN, (token, ...rest) => {
    const { comment, raw, literal, empty } = rest.at(-1) as Partial<Record<string, string>>;
    if (literal !== undefined) checkEscapes(literal);
    // The parser encodes the two halves of such a character separately.
    if (/^[bB].*[\u{10000}-\u{10FFFF}]/su.test(raw ?? literal ?? "")) throw new Error("a bytes literal contains a character above U+FFFF");
    if (comment !== undefined) return " ".repeat(token.length);
    return empty === undefined ? token : `()${empty.slice(1, -1)}`;
  });
}

/** @throws Error for an escape that does not exist, or that denotes a code point in bytes */
function checkEscapes(literal: string): void {
  const isBytes = /^[bB]/.test(literal);
  const rest = literal.replace(ESCAPE, (escape) => (isBytes && CODE_POINT_ESCAPE.test(escape) ? "\\" : ""));
  if (rest.includes("\\")) throw new Error("a string or bytes literal contains an invalid escape");
}

/** @throws Error for a macro that cel-go v0.26.0 does not know, and for a variable with the name of its accumulator */
function checkMacros(macros: MacroCalls): void {
  for (const { exprKind } of Object.values(macros)) {
    if (exprKind.case !== "callExpr") continue;
    const { function: name, args } = exprKind.value;
    if (name === "existsOne") throw new Error('undeclared reference to "existsOne"');
    if (args[0]?.exprKind.case === "identExpr" && args[0].exprKind.value.name === "__result__")
      throw new Error(`macro '${name}' cannot use the variable "__result__"`);
  }
}

/** Formats where an expression begins; the library's offset is before the spaces that precede it. */
function formatPosition(text: string, offset: number | undefined): string {
  if (offset === undefined) return "";
  const spaces = /^\s*/.exec(text.slice(offset))?.[0].length ?? 0;
  const lines = text.slice(0, offset + spaces).split("\n");
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}: `;
}
