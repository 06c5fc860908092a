/** The meaning of a text. A terminal with colors shows it as a color, in addition to the text. */
export type Mood = "good" | "bad" | "warning" | "faint" | "strong";

/** A text and its meaning. */
export interface Styled {
  readonly text: string;
  readonly mood?: Mood | undefined;
}
