/** Name and value of each piece of a query string (without its `?`), unescaped, in order; undefined when it has a broken escape or a semicolon. */
export function queryPieces(query: string): [name: string, value: string][] | undefined {
  const pieces: [string, string][] = [];
  for (const piece of query.split("&")) {
    if (piece === "") continue;
    if (piece.includes(";")) return undefined;
    const equals = piece.indexOf("=");
    const name = unescaped(equals < 0 ? piece : piece.slice(0, equals));
    const value = unescaped(equals < 0 ? "" : piece.slice(equals + 1));
    if (name === undefined || value === undefined) return undefined;
    pieces.push([name, value]);
  }
  return pieces;
}

function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}
