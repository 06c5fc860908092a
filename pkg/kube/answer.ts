import type { HttpResponse } from "../http/types.ts";
import { readText } from "./body.ts";
import { KubeError } from "./errors.ts";
import { kubeErrorFrom } from "./status.ts";

/** What is made of a text of the server before anybody else sees it. */
export type Told = (text: string) => string;

/** The parsed body of an answer; undefined where it is empty. @throws KubeError on every status from 400. */
export async function answerOf(response: HttpResponse, told: Told): Promise<unknown> {
  if (response.statusCode >= 400) throw await errorOf(response, told);
  const text = await readText(response.body);
  return text === "" ? undefined : JSON.parse(text);
}

/** The error that an answer of status 400 and above is. */
export async function errorOf(response: HttpResponse, told: Told): Promise<KubeError> {
  const text = await readText(response.body);
  const retryAfter = response.headers["retry-after"];
  const err = kubeErrorFrom(response.statusCode, parsed(text), typeof retryAfter === "string" ? retryAfter : undefined);
  const message = told(err.message);
  return message === err.message ? err : new KubeError(message, err);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
