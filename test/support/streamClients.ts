// Many clients of the event stream of the console, in a process of their own: `node streamClients.ts URL COUNT MARKER HEADERS`, where HEADERS is JSON.
// Prints `open` when all clients have received a message, and `seen FIRST LAST`, in milliseconds since the epoch, when all have received the marker.
import { connect } from "node:net";

const [address = "", countText = "", marker = "", headersText = "{}"] = process.argv.slice(2);
const { hostname, port, host } = new URL(address);
const count = Number(countText);
const headers = Object.entries(JSON.parse(headersText) as Record<string, string>).map(([name, value]) => `${name}: ${value}\r\n`);
const request = `GET /api/events HTTP/1.1\r\nHost: ${host}\r\n${headers.join("")}\r\n`;
/** Number of clients that wait for their first message. More would fill the server's queue of new connections. */
const CONCURRENT = 100;

const seen: number[] = [];
let opened = 0;

function open(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(request));
    let isOpen = false;
    let tail = "";
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      const found = tail + text;
      tail = found.slice(-marker.length);
      if (!isOpen && found.includes("data: ")) {
        isOpen = true;
        opened++;
        resolve();
      }
      if (!found.includes(marker)) return;
      seen.push(Date.now());
      tail = "";
      socket.removeAllListeners("data").resume();
      if (seen.length === count) process.stdout.write(`seen ${seen[0]} ${seen.at(-1)}\n`);
    });
    socket.once("error", reject);
    socket.once("close", () => reject(new Error(`the server closed the connection: ${tail}`)));
  });
}

async function openInTurn(): Promise<void> {
  while (started < count) {
    started++;
    await open();
  }
}

let started = 0;
await Promise.all(Array.from({ length: CONCURRENT }, openInTurn));
process.stdout.write(`open ${opened}\n`);
