/** One message of an event stream. */
export interface StreamEvent {
  readonly id: string | undefined;
  readonly data: string;
}

/** Maximum length of one message in characters, so that a broken server cannot fill the memory. */
const MAX_MESSAGE = 64 * 1024 * 1024;

/**
 * Yields the messages of a response in the format of Server-Sent Events. EventSource is not used because it cannot send headers.
 * @param silenceMs time without any data after which the connection counts as lost
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
export async function* readEventStream(response: Response, silenceMs: number): AsyncGenerator<StreamEvent> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await withTimeout(reader.read(), silenceMs);
      if (done) return;
      rest += value;
      if (rest.length > MAX_MESSAGE) throw new Error("a message of the event stream is too long");
      const blocks = rest.split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = parseEvent(block);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** Parses one block of lines; undefined if it contains no data, for example a comment. */
export function parseEvent(block: string): StreamEvent | undefined {
  let id: string | undefined;
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [, field, value = ""] = /^(\w*):? ?(.*)$/s.exec(line) ?? [];
    if (field === "id") id = value;
    else if (field === "data") data.push(value);
  }
  return data.length === 0 ? undefined : { id, data: data.join("\n") };
}

async function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("the event stream is silent")), ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
