const codeSpan = /(?<=^|[\s(])`([^`]+)`(?=$|[\s?!.,:;)])/

/**
 * Splits text at its backtick spans: text at even positions, code at odd ones. If a backtick is left
 * over, for example because a command contains one, the text is not split: what a user approves must
 * not look different from what runs.
 */
export function splitCode(text: string): readonly string[] {
  const parts = text.split(codeSpan)
  return parts.some((part) => part.includes('`')) ? [text] : parts
}
