/** Words as a model sends them: a space and two to five letters, now and then a line break, a quote or a letter with an accent. */
const words =
  ' the| of| and| to| in| is| it| was| for| on| are| with| as| his| they| at| be| this| from| have| or| by| one| had| not| but| what| all| were| when| we| there| can| an| your| which| said| if| do| will| each| about| how| up| out| them| then| she| many| some| so| these| would| other| into| has| more| her| two| like| him| see| time| could| no| make| than| been| its| who| now| people| my| made| over| did| down| only| way| find| use| may| water| long| café| naïve| "so"| day,| end.|.\n\n'
    .split('|')
    .filter((word) => word.length >= 3 && word.length <= 6)

/** The same numbers on every machine, between 0 and 1. */
export function numbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** `count` deltas of a text. */
export function wordDeltas(count: number, seed = 1): string[] {
  const next = numbers(seed)
  return Array.from({ length: count }, () => words[Math.floor(next() * words.length)] ?? '')
}

/** Source code, so that its JSON is full of escapes, as when a model writes a file. Exactly `length` characters, all ASCII. */
export function sourceCode(length: number): string {
  const lines: string[] = []
  let size = 0
  for (let line = 1; size < length; line++) {
    const text = `  if (input.part${line} > ${line * 7}) return "step ${line}" // and go on\n`
    lines.push(text)
    size += text.length
  }
  return lines.join('').slice(0, length)
}
