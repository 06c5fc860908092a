import { expect, test } from "vitest";
import { escapeForTerminal } from "./terminal.ts";

test.for<[what: string, text: string, shown: string]>([
  ["plain text", "a\tb\nc é 中\r\n", "a\tb\nc é 中\r\n"],
  ["colors and a cleared line", "\u001B[1;31mred\u001B[0m\r\u001B[K…", "\u001B[1;31mred\u001B[0m\r\u001B[K…"],
  ["a sequence that sets the terminal title", "\u001B]0;owned\u0007", "\\u001b]0;owned\\u0007"],
  ["a sequence that sets the clipboard", "\u001B]52;c;cm0gLXJm\u001B\\", "\\u001b]52;c;cm0gLXJm\\u001b\\"],
  ["a sequence that moves the cursor up", "x\u001B[2A\u001B[2Jy", "x\\u001b[2A\\u001b[2Jy"],
  ["an 8-bit sequence that moves the cursor up", "x\u009B2Ay", "x\\u009b2Ay"],
  ["a line that a carriage return overwrites", "safe\revil", "safe\\u000devil"],
  ["a text with backspaces", "rm\u0008\u0008ls", "rm\\u0008\\u0008ls"],
  ["a text with a right-to-left override", "a\u202Eb", "a\\u202eb"],
  ["noncharacters and lone surrogates", "\u{E0001}\uD800", "\\udb40\\udc01\\ud800"],
])("escapeForTerminal escapes only unsafe sequences in %s", ([, text, shown]) => {
  expect(escapeForTerminal(text)).toBe(shown);
});
