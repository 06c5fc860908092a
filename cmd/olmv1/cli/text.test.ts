import { expect, test } from "vitest";
import { escapeForTerminal } from "./terminal.ts";

test.for<[what: string, text: string, shown: string]>([
  ["plain text", "a\tb\nc é 中\r\n", "a\tb\nc é 中\r\n"],
  ["colours and a line that is cleared", "\u001B[1;31mred\u001B[0m\r\u001B[K…", "\u001B[1;31mred\u001B[0m\r\u001B[K…"],
  ["a title", "\u001B]0;owned\u0007", "\\u001b]0;owned\\u0007"],
  ["the clipboard", "\u001B]52;c;cm0gLXJm\u001B\\", "\\u001b]52;c;cm0gLXJm\\u001b\\"],
  ["a cursor that moves up", "x\u001B[2A\u001B[2Jy", "x\\u001b[2A\\u001b[2Jy"],
  ["the same in eight bits", "x\u009B2Ay", "x\\u009b2Ay"],
  ["a line that begins again", "safe\revil", "safe\\u000devil"],
  ["a backspace", "rm\u0008\u0008ls", "rm\\u0008\\u0008ls"],
  ["text that is turned round", "a\u202Eb", "a\\u202eb"],
  ["noncharacters and lone surrogates", "\u{E0001}\uD800", "\\udb40\\udc01\\ud800"],
])("escapeForTerminal handles %s", ([, text, shown]) => {
  expect(escapeForTerminal(text)).toBe(shown);
});
