import { goQuote } from "../golang/quote.ts";

/** Deeper nesting than this is a fault. */
const MAX_DEPTH = 10_000;
const SPACES = " \t\r\n";
const LITERALS: Readonly<Record<string, string>> = { t: "true", f: "false", n: "null" };
const ESCAPES = 'bfnrt\\/"';

/** What the open brackets wait for: the end of an object's key, of an object's value, of a list's element. */
type Open = "key" | "member" | "element";
/** Takes the next character; gives what takes the one after it. */
type Step = (char: string) => Step;

class Fault extends Error {}

/**
 * What Go's decoder has against `text` when it is not one JSON value, in Go's words such as `unexpected end of JSON input` or
 * `invalid character 'x' looking for beginning of value`; undefined when it is one. It quotes one character at most, and takes time
 * in proportion to the length and no stack for nesting.
 * @see https://github.com/golang/go/blob/go1.25.0/src/encoding/json/scanner.go
 */
export function goJsonFault(text: string): string | undefined {
  const scanner = new Scanner();
  let step = scanner.start;
  try {
    // Go reads bytes and prints each as the character of that number.
    for (const char of Buffer.from(text, "utf8").toString("latin1")) step = step(char);
    if (!scanner.ended) step(" ");
  } catch (err) {
    if (err instanceof Fault) return err.message;
    throw err;
  }
  return scanner.ended ? undefined : "unexpected end of JSON input";
}

class Scanner {
  readonly #open: Open[] = [];
  #ended = false;

  get ended(): boolean {
    return this.#ended;
  }

  get start(): Step {
    return this.#value;
  }

  readonly #value: Step = (char) => {
    if (SPACES.includes(char)) return this.#value;
    if (char === "{") return this.#opened("key", char, this.#keyOrEnd);
    if (char === "[") return this.#opened("element", char, this.#valueOrEnd);
    if (char === '"') return this.#string;
    if (char === "-") return this.#negative;
    if (char === "0") return this.#zero;
    if (isDigit(char)) return this.#integer;
    const literal = LITERALS[char];
    if (literal !== undefined) return this.#literal(literal, 1);
    throw fault(char, "looking for beginning of value");
  };

  readonly #valueOrEnd: Step = (char) => {
    if (SPACES.includes(char)) return this.#valueOrEnd;
    return char === "]" ? this.#afterValue(char) : this.#value(char);
  };

  readonly #keyOrEnd: Step = (char) => {
    if (SPACES.includes(char)) return this.#keyOrEnd;
    if (char !== "}") return this.#key(char);
    this.#open[this.#open.length - 1] = "member";
    return this.#afterValue(char);
  };

  readonly #key: Step = (char) => {
    if (SPACES.includes(char)) return this.#key;
    if (char === '"') return this.#string;
    throw fault(char, "looking for beginning of object key string");
  };

  readonly #afterValue: Step = (char) => {
    const open = this.#open.at(-1);
    if (open === undefined) {
      this.#ended = true;
      return this.#afterEnd(char);
    }
    if (SPACES.includes(char)) return this.#afterValue;
    if (open === "key") return this.#next(char, ":", "member", this.#value, "after object key");
    if (open === "member") {
      return char === "}" ? this.#closed() : this.#next(char, ",", "key", this.#key, "after object key:value pair");
    }
    return char === "]" ? this.#closed() : this.#next(char, ",", "element", this.#value, "after array element");
  };

  readonly #afterEnd: Step = (char) => {
    if (SPACES.includes(char)) return this.#afterEnd;
    throw fault(char, "after top-level value");
  };

  #next(char: string, wanted: string, open: Open, then: Step, context: string): Step {
    if (char !== wanted) throw fault(char, context);
    this.#open[this.#open.length - 1] = open;
    return then;
  }

  #opened(open: Open, char: string, then: Step): Step {
    this.#open.push(open);
    if (this.#open.length > MAX_DEPTH) throw fault(char, "exceeded max depth");
    return then;
  }

  #closed(): Step {
    this.#open.pop();
    if (this.#open.length > 0) return this.#afterValue;
    this.#ended = true;
    return this.#afterEnd;
  }

  readonly #string: Step = (char) => {
    if (char === '"') return this.#afterValue;
    if (char === "\\") return this.#escape;
    if (char < " ") throw fault(char, "in string literal");
    return this.#string;
  };

  readonly #escape: Step = (char) => {
    if (char === "u") return this.#hex(4);
    if (ESCAPES.includes(char)) return this.#string;
    throw fault(char, "in string escape code");
  };

  #hex(left: number): Step {
    if (left === 0) return this.#string;
    return (char) => {
      if (/[\da-fA-F]/.test(char)) return this.#hex(left - 1);
      throw fault(char, "in \\u hexadecimal character escape");
    };
  }

  readonly #negative: Step = (char) => {
    if (char === "0") return this.#zero;
    if (isDigit(char)) return this.#integer;
    throw fault(char, "in numeric literal");
  };

  readonly #integer: Step = (char) => (isDigit(char) ? this.#integer : this.#zero(char));

  readonly #zero: Step = (char) => (char === "." ? this.#point : this.#exponentOrEnd(char));

  readonly #point: Step = (char) => {
    if (isDigit(char)) return this.#fraction;
    throw fault(char, "after decimal point in numeric literal");
  };

  readonly #fraction: Step = (char) => (isDigit(char) ? this.#fraction : this.#exponentOrEnd(char));

  readonly #exponentOrEnd: Step = (char) => (char === "e" || char === "E" ? this.#exponent : this.#afterValue(char));

  readonly #exponent: Step = (char) => (char === "+" || char === "-" ? this.#exponentSigned : this.#exponentSigned(char));

  readonly #exponentSigned: Step = (char) => {
    if (isDigit(char)) return this.#exponentDigits;
    throw fault(char, "in exponent of numeric literal");
  };

  readonly #exponentDigits: Step = (char) => (isDigit(char) ? this.#exponentDigits : this.#afterValue(char));

  #literal(word: string, at: number): Step {
    const expected = word[at];
    if (expected === undefined) return this.#afterValue;
    return (char) => {
      if (char === expected) return this.#literal(word, at + 1);
      throw fault(char, `in literal ${word} (expecting '${expected}')`);
    };
  }
}

function isDigit(char: string): boolean {
  return char >= "0" && char <= "9";
}

function fault(char: string, context: string): Fault {
  return new Fault(`invalid character ${quoted(char)} ${context}`);
}

/** One byte as Go quotes it in single quotes. */
function quoted(char: string): string {
  if (char === "'") return String.raw`'\''`;
  if (char === '"') return `'"'`;
  return `'${goQuote(char).slice(1, -1)}'`;
}
