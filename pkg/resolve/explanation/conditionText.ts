/** Longest message about a resolution, in UTF-16 units, and so in characters: one that people read in a condition. */
export const RESOLUTION_MESSAGE_MAX = 2_000;

/**
 * `message` as a condition has it: at most 2,000 characters, cut between characters, with a note where all of it is told.
 * @param extension name of the ClusterExtension that it is about.
 */
export function conditionText(message: string, extension: string): string {
  if (message.length <= RESOLUTION_MESSAGE_MAX) return message;
  const note = `... (cut; all of it: olmv1 resolve ${extension} --explain, or /debug/resolution/${extension} of operator-controller)`;
  let end = RESOLUTION_MESSAGE_MAX - note.length;
  if (isHighSurrogate(message.charCodeAt(end - 1))) end -= 1;
  return message.slice(0, end) + note;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
