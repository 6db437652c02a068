import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { startCommand } from '../command.ts'

/** The sections of a table file by title. ␤ is a newline, ␉ a tab, ␍ a carriage return. */
export function tableOf(name: string): ReadonlyMap<string, readonly string[]> {
  const text = readFileSync(new URL(name, import.meta.url), 'utf8')
  const sections = text.split(/^== /m).slice(1)
  return new Map(
    sections.map((section) => {
      const [title = '', ...rows] = section.split('\n')
      return [title, rows.filter(Boolean).map(unfold)] as const
    }),
  )
}

function unfold(row: string): string {
  return row.replaceAll('␤', '\n').replaceAll('␉', '\t').replaceAll('␍', '\r')
}

const known = 'base64 bash cat env find ls nice nohup sed setsid sh timeout tr xargs awk'.split(' ')

/** Runs each line in a real bash with few commands, and returns whether each ran `marker`. */
export async function runForReal(lines: readonly string[]): Promise<boolean[]> {
  const folder = mkdtempSync(join(tmpdir(), 'commands-'))
  try {
    const bin = join(folder, 'bin')
    for (const name of ['bin', 'lines', 'hits', 'work']) mkdirSync(join(folder, name))
    writeFileSync(join(bin, 'marker'), '#!/bin/sh\n: >"$HIT"\n')
    chmodSync(join(bin, 'marker'), 0o755)
    for (const name of known) {
      const found = whereIs(name)
      if (found) symlinkSync(found, join(bin, name))
    }
    for (const [index, line] of lines.entries()) writeFileSync(join(folder, 'lines', String(index)), line)
    // Ends everything that a line has started.
    const command = await startCommand({
      file: join(bin, 'bash'),
      args: ['-c', driver],
      cwd: join(folder, 'work'),
      env: { PATH: bin, BIN: bin, HOME: folder, FOLDER: folder },
      maxOutputBytes: 1,
      graceMs: 0,
    })
    await command.ended
    return lines.map((_, index) => existsSync(join(folder, 'hits', String(index))))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

// Lines that wait or loop are ended.
const driver = `
i=0
while [ -e "$FOLDER/lines/$i" ]; do
  IFS= read -r -d '' line < "$FOLDER/lines/$i"
  (ulimit -t 2; HIT=$FOLDER/hits/$i exec timeout --foreground -k 1 5 bash -c "$line" </dev/null >/dev/null 2>&1)
  i=$((i+1))
done`

function whereIs(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
}
