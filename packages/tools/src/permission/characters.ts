/** One character of a pattern. `literal` if a `\` escapes it, so that it has no special meaning. */
export interface Character {
  readonly value: string
  readonly literal: boolean
}

/**
 * Throws the rest of a sentence for a `\` before a letter or digit: it was probably meant as a
 * backslash.
 */
export function charactersOf(pattern: string): Character[] {
  const characters: Character[] = []
  let escaped = false
  for (const value of pattern) {
    if (escaped && /[\p{L}\p{N}]/u.test(value))
      throw new Error(`has a \\ before '${value}', which has no effect: write \\\\ for a backslash`)
    if (escaped || value !== '\\') characters.push({ value, literal: escaped })
    escaped = !escaped && value === '\\'
  }
  if (escaped) throw new Error('ends with a \\: write \\\\ for a backslash')
  return characters
}

/** Whether it is this character, not escaped. */
export function isSpecial(character: Character | undefined, value: string): boolean {
  return character?.value === value && !character.literal
}
