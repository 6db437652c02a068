const made = new Map<string, Intl.Segmenter>()

/**
 * A segmenter of words or characters, in the default locale if none is given. Made when it is first
 * needed: the first takes about 40 ms, and a program may never speak.
 */
export function segmenter(granularity: 'word' | 'grapheme', locale?: 'en'): Intl.Segmenter {
  const key = `${granularity} ${locale}`
  const found = made.get(key) ?? new Intl.Segmenter(locale, { granularity })
  made.set(key, found)
  return found
}
