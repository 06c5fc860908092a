/**
 * JSON on one line as Go's encoder indents it: members and elements on lines of their own, empty objects and lists in one piece.
 * @param json without white space between tokens.
 */
export function indented(json: string, spaces: number): string {
  const pieces: string[] = [];
  let depth = 0;
  let start = 0;
  const newLine = (): string => `\n${" ".repeat(depth * spaces)}`;
  for (let at = 0; at < json.length; at++) {
    const char = json[at];
    if (char === '"') {
      at = stringEnd(json, at);
      continue;
    }
    const opens = char === "{" || char === "[";
    if (!opens && char !== "}" && char !== "]" && char !== "," && char !== ":") continue;
    const isEmpty = opens && (json[at + 1] === "}" || json[at + 1] === "]");
    if (isEmpty) {
      at++;
      continue;
    }
    const closes = char === "}" || char === "]";
    pieces.push(json.slice(start, closes ? at : at + 1));
    start = closes ? at : at + 1;
    if (opens) depth++;
    if (closes) depth--;
    pieces.push(char === ":" ? " " : newLine());
  }
  return pieces.join("") + json.slice(start);
}

/** Where the string that begins at `from` has its closing quote. */
export function stringEnd(json: string, from: number): number {
  for (let end = json.indexOf('"', from + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let escapes = 0;
    while (json[end - 1 - escapes] === "\\") escapes++;
    if (escapes % 2 === 0) return end;
  }
  return json.length;
}
