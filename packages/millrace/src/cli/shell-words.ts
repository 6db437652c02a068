/** A `millrace` command that can be pasted into a shell. */
export function shellCommand(words: readonly string[]): string {
  return [programName(), ...words.map(quoted)].join(' ')
}

function programName(): string {
  return process.env.npm_command === 'exec' ? 'npx millrace' : 'millrace'
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
