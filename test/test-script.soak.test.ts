import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { testScript } from '../packages/millrace/src/testing/index.ts'
import {
  type Action,
  converse,
  tester,
} from '../packages/millrace/src/threads/test-script/test-script.test-kit.ts'
import { plainEnv, run, typeCheck } from './processes.ts'
import { root } from './root.ts'

const hello: Action = { send: 'Hello there', mode: 'queue' }
const rest: Action = { rest: true }
const long = 'It is a long story, and it starts at the very beginning. '.repeat(3)

/** Conversations with everything that a script can contain. */
const conversations: Readonly<Record<string, () => ReturnType<typeof converse>>> = {
  words: () => converse(tester(['Hello.', long]), [hello, rest, { send: long, mode: 'queue' }, rest]),
  tools: () =>
    converse(
      tester([
        [
          { text: long },
          {
            call: 'plain',
            input: {
              list: [
                { a: 1, b: 2 },
                { a: 3, b: 4 },
              ],
              text: long,
            },
          },
          { call: 'picture' },
          { call: 'bad', input: { id: long } },
          { call: 'plain', input: { 'b-c': 1 } },
        ],
        [
          { call: 'asks', input: { a: 1 } },
          { call: 'asks', input: { a: 2 } },
        ],
        [{ text: 'Done.' }, { usage: { inputTokens: 12, outputTokens: 3 } }],
      ]),
      [hello, rest, { decide: true, input: { a: 3 } }, { decide: false }, rest],
    ),
  failures: () =>
    converse(
      tester([
        [{ text: 'Half' }, { error: { code: 'overloaded', message: long } }],
        [{ error: 'no' }],
        'Fine.',
      ]),
      [hello, rest, hello, rest],
    ),
  people: () =>
    converse(tester([[{ text: 'Going on' }, { hang: true }], [{ call: 'asks' }], 'Well.']), [
      hello,
      { seen: 'text' },
      { send: long, mode: 'interrupt' },
      rest,
      { send: 'By the way', mode: 'steer' },
      { decide: true },
      rest,
    ]),
}

test('the output of testScript() type-checks, is formatted and passes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-test-script-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  await mkdir(join(folder, 'node_modules'))
  symlinkSync(join(root, 'packages', 'millrace'), join(folder, 'node_modules', 'millrace'))
  symlinkSync(join(root, 'node_modules', 'vitest'), join(folder, 'node_modules', 'vitest'))
  for (const [name, converse] of Object.entries(conversations))
    await writeFile(join(folder, `${name}.test.ts`), testScript(await converse()))
  const compilerOptions = {
    target: 'es2024',
    module: 'nodenext',
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noUnusedLocals: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(
    join(folder, 'biome.json'),
    JSON.stringify({ extends: [join(root, 'biome.json')], vcs: { enabled: false } }),
  )

  const types = await typeCheck(folder)
  expect(types.stdout).toBe('')
  const bin = join(root, 'node_modules', '.bin')
  const style = await run(join(bin, 'biome'), ['check', '--error-on-warnings', ...namesOf('.test.ts')], {
    cwd: folder,
  })
  expect({ exit: style.exit, said: style.stdout + style.stderr }).toEqual({
    exit: 0,
    said: expect.anything(),
  })
  const green = await run(join(bin, 'vitest'), ['run', '--root', folder], { cwd: folder, env: plainEnv() })
  expect({ exit: green.exit, said: green.stdout + green.stderr }).toEqual({
    exit: 0,
    said: expect.anything(),
  })
})

function namesOf(ending: string): string[] {
  return Object.keys(conversations).map((name) => `${name}${ending}`)
}
