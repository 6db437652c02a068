import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { gitlinks } from './git-index.ts'
import { folder } from './sandbox.test-kit.ts'

test.each([
  ['version 2', '', 'git update-index --index-version 2'],
  ['version 3', '', 'git update-index --index-version 2; echo > new; git add -N new'],
  ['version 4', '', 'git update-index --index-version 4'],
  ['two parts', '', 'git update-index --split-index'],
  ['long hashes', '--object-format=sha256', 'true'],
  ['long hashes and version 4', '--object-format=sha256', 'git update-index --index-version 4'],
])('nested repositories are found in an index of %s', (_, options, line) => {
  const root = folder()
  const script = `
    git init -q ${options}
    mkdir -p a/deep lib lib2 && touch a/b a/deep/c lib/a lib2/a z
    for at in lib/one lib/two zoo; do
      git init -q ${options} $at
      git -C $at -c user.name=a -c user.email=b commit -q --allow-empty -m one
    done
    git add . 2> /dev/null
    ${line}`
  execFileSync('bash', ['-ec', script], { cwd: root })
  const found = new Set(gitlinks(join(root, '.git')).filter((path) => existsSync(join(root, path))))
  expect([...found].toSorted()).toStrictEqual(['lib/one', 'lib/two', 'zoo'])
})

test('an index without any, an invalid index and a missing one have none', () => {
  const root = folder()
  expect(gitlinks(root)).toStrictEqual([])
  execFileSync('bash', ['-ec', 'printf "DIRC\\0\\0\\0\\2\\377\\377\\377\\377\\0\\0\\340\\0" > index'], {
    cwd: root,
  })
  expect(gitlinks(root)).toStrictEqual([])
})
