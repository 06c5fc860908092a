/** The commands in a piece of shell script. */
export interface Script {
  /** Words of every simple command, including those in substitutions, without leading assignments and redirections. */
  readonly commands: readonly (readonly string[])[];
  /** Texts of here-documents. */
  readonly documents: readonly string[];
}

const ENDS = ["&&", "||", ";", "|", "&", "\n", ")", "("];
const ASSIGNMENT = /^\w+=/;

/**
 * Parses a script to find its commands: quotes, comments, lists, pipes, substitutions and here-documents. Keywords (`for`, `if`) count as
 * commands.
 * @throws Error for an unterminated quote or here-document
 */
export function readScript(text: string): Script {
  const reader = new ScriptReader(text);
  reader.readAll();
  return { commands: reader.commands.filter((words) => words.length > 0), documents: reader.documents };
}

class ScriptReader {
  readonly commands: string[][] = [[]];
  readonly documents: string[] = [];
  readonly #text: string;
  readonly #ends: string[] = [];
  #at = 0;
  #word: string | undefined;
  #isTarget = false;

  constructor(text: string) {
    this.#text = text;
  }

  readAll(): void {
    while (this.#at < this.#text.length) this.#step();
    this.#endCommand();
    if (this.#ends.length > 0) throw new Error(`here-document is not terminated by ${this.#ends[0]}`);
  }

  #step(): void {
    const rest = this.#text.slice(this.#at);
    const end = ENDS.find((one) => rest.startsWith(one));
    const [redirection = "", mark = "", documentEnd] = /^(?:\d?(<<|[<>]&\d|>>|[<>](?!\())) *(?:(?<=<< *)['"]?(\w+)['"]?)?/.exec(rest) ?? [];
    if (rest.startsWith("\\\n")) this.#at += 2;
    else if (rest.startsWith("$(") || rest.startsWith("<(")) this.#substitute();
    else if (redirection !== "" && (this.#word === undefined || /^\D/.test(redirection))) {
      this.#endWord();
      this.#at += redirection.length;
      if (documentEnd !== undefined) this.#ends.push(documentEnd);
      this.#isTarget = documentEnd === undefined && !mark.includes("&");
    } else if (end !== undefined) this.#end(end);
    else if (/^[ \t]/.test(rest)) this.#endWord(1);
    else if (rest.startsWith("#") && this.#word === undefined) this.#at += rest.search(/\n|$/);
    else if (rest.startsWith("'") || rest.startsWith('"')) this.#readQuoted(rest.charAt(0));
    else this.#take(rest.startsWith("\\") ? rest.charAt(1) : rest.charAt(0), rest.startsWith("\\") ? 2 : 1);
  }

  #take(text: string, length: number): void {
    this.#word = (this.#word ?? "") + text;
    this.#at += length;
  }

  #readQuoted(quote: string): void {
    const begin = this.#at;
    this.#take("", 1);
    while (this.#text[this.#at] !== quote) {
      const next = this.#text[this.#at];
      if (next === undefined) throw new Error(`quote is not closed: ${this.#text.slice(begin, begin + 40)}`);
      if (quote === '"' && this.#text.startsWith("$(", this.#at)) this.#substitute();
      else if (quote === '"' && next === "\\") this.#take(this.#text.charAt(this.#at + 1), 2);
      else this.#take(next, 1);
    }
    this.#at++;
  }

  /** Commands in a substitution are parsed as a separate script; for the outer command, it is a word. */
  #substitute(): void {
    const inner = this.#text.slice(this.#at + 2, closing(this.#text, this.#at + 2));
    const { commands, documents } = readScript(inner);
    this.commands.unshift(...commands.map((words) => [...words]));
    this.documents.push(...documents);
    this.#take("$(…)", inner.length + 3);
  }

  #end(end: string): void {
    this.#at += end.length;
    this.#endCommand();
    if (end === "\n") for (const word of this.#ends.splice(0)) this.#document(word);
  }

  #document(end: string): void {
    const rest = this.#text.slice(this.#at);
    const found = new RegExp(`^${end}$`, "m").exec(rest);
    if (!found) throw new Error(`here-document is not terminated by ${end}`);
    this.documents.push(rest.slice(0, found.index));
    this.#at += found.index + end.length;
  }

  #endCommand(): void {
    this.#endWord();
    this.commands.push([]);
  }

  #endWord(length = 0): void {
    const word = this.#word;
    this.#at += length;
    this.#word = undefined;
    if (word === undefined) return;
    const words = this.commands.at(-1);
    if (!this.#isTarget && (words?.length !== 0 || !ASSIGNMENT.test(word))) words?.push(word);
    this.#isTarget = false;
  }
}

/** Returns the index of the closing parenthesis for the opening one at `from`. */
function closing(text: string, from: number): number {
  let depth = 1;
  for (let i = from; i < text.length; i++) {
    const quote = text[i];
    if (quote === "'") i = Math.max(i, text.indexOf("'", i + 1));
    else if (quote === "(") depth++;
    else if (quote === ")" && --depth === 0) return i;
  }
  throw new Error(`substitution is not closed: ${text.slice(from, from + 40)}`);
}
