import { afterAll, expect, test } from 'vitest'
import { commonLines, settings } from './common-lines.ts'
import { lineJudge } from './judge.ts'
import { openWorld, programPath } from './world.ts'

const world = openWorld()
afterAll(() => world.close())

/** Of 134 lines at least 125. */
const enough = 125 / 134

test('common lines are judged as developers expect', async () => {
  expect(commonLines.length).toBeGreaterThanOrEqual(134)
  const place = { workspace: world.workspace, program: programPath('bash') ?? '/bin/sh' }
  const judge = lineJudge(settings, place)
  const differing: string[] = []
  for (const [line, ...expected] of commonLines) {
    const { readOnly, coding } = await judge(line)
    const judged = [readOnly, coding].join(', ')
    if (judged !== expected.join(', ')) differing.push(`${line}: ${judged}, not ${expected.join(', ')}`)
  }
  const agreed = commonLines.length - differing.length
  process.stderr.write(`${agreed} of ${commonLines.length} common lines are judged as expected, but not\n`)
  process.stderr.write(`${differing.map((text) => `  ${text}\n`).join('')}`)
  if (agreed < commonLines.length * enough) expect(differing).toEqual([])
})
