/**
 * Encodes text for a column of a database. UTF-8 has no lone surrogates (two different ones would
 * become the same), and a NUL is not allowed, or ends the text for some functions. Such text is
 * stored as JSON, and so is text that looks like JSON.
 */
export function toColumn(text: string): string {
  return text.isWellFormed() && !text.includes('\0') && !text.startsWith('"') ? text : JSON.stringify(text)
}

export function fromColumn(column: string): string {
  return column.startsWith('"') ? JSON.parse(column) : column
}

export function optional(text: string | undefined): string | null {
  return text === undefined ? null : toColumn(text)
}
