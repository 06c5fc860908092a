import { Agent, request } from "undici";

/** A complete response. */
export interface Answer {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Sends one GET to a server with certificate `ca`. @throws Error for every status but 200. */
export async function get(url: string, ca: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const agent = new Agent({ connect: { ca } });
  try {
    const response = await request(url, { dispatcher: agent, headers });
    const body = await response.body.text();
    if (response.statusCode !== 200) throw new Error(`GET ${url}: status ${response.statusCode}: ${body.slice(0, 200)}`);
    return { headers: response.headers, body };
  } finally {
    await agent.close();
  }
}

/** Returns the headers of the response to one GET, without reading the body. */
export async function getHeaders(url: string, ca: string, headers: Readonly<Record<string, string>>): Promise<Answer["headers"]> {
  const agent = new Agent({ connect: { ca } });
  try {
    const response = await request(url, { dispatcher: agent, headers });
    response.body.on("error", () => undefined).destroy();
    return response.headers;
  } finally {
    await agent.destroy();
  }
}
