/** One character of a pattern. Plain if a `\` stood before it: it then means itself, whatever it is. */
export interface Character {
  readonly value: string
  readonly plain: boolean
}

/** Throws a sentence's rest if a `\` stands where it means nothing: more likely it was meant as itself. */
export function charactersOf(pattern: string): Character[] {
  const characters: Character[] = []
  let escaped = false
  for (const value of pattern) {
    if (escaped && /[\p{L}\p{N}]/u.test(value))
      throw new Error(`has a \\ before '${value}', where it means nothing: write \\\\ for a backslash`)
    if (escaped || value !== '\\') characters.push({ value, plain: escaped })
    escaped = !escaped && value === '\\'
  }
  if (escaped) throw new Error('ends with a \\: write \\\\ for a backslash')
  return characters
}

/** True if it is this character and means something. */
export function isSign(character: Character | undefined, value: string): boolean {
  return character?.value === value && !character.plain
}
