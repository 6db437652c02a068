import { tmpdir } from 'node:os'
import { describe, expect, it } from 'vitest'
import { networkOf, networkOfFolder, typeInMountinfo } from './filesystem.ts'

describe('the type of a filesystem', () => {
  it.each([
    ['NFS', 0x6969],
    ['SMB', 0x517b],
    ['SMB', 0xfe534d42],
    ['CIFS', 0xff534d42],
    // Negative, as a 32-bit system returns it.
    ['CIFS', 0xff534d42 | 0],
    ['Ceph', 0xc36400],
    ['Lustre', 0xbd00bd0],
  ])('is recognized as a network: %s', (name, type) => {
    expect(networkOf(type, undefined)).toBe(name)
  })

  it.each([
    ['ext4', 0xef53],
    ['xfs', 0x58465342],
    ['btrfs', 0x9123683e],
    ['tmpfs', 0x01021994],
    ['overlay', 0x794c7630],
    ['zfs', 0x2fc12fc1],
    ['9p, as sandboxes show an ordinary disk', 0x01021997],
    ['virtiofs, as containers show one', 0x65735546],
  ])('is recognized as a local disk: %s', (_, type) => {
    expect(networkOf(type, undefined)).toBeUndefined()
  })

  it('is taken from the mount, since FUSE may be anything', () => {
    const fuse = 0x65735546
    expect(networkOf(fuse, 'fuse.sshfs')).toBe('sshfs')
    expect(networkOf(fuse, 'fuse.rclone')).toBe('rclone')
    expect(networkOf(fuse, 'virtiofs')).toBeUndefined()
    expect(networkOf(fuse, 'fuse.ntfs-3g')).toBeUndefined()
    expect(networkOf(0xef53, 'fuse.sshfs')).toBeUndefined()
  })

  it('is not a network where these tests run', () => {
    expect(networkOfFolder(tmpdir())).toBeUndefined()
    expect(networkOfFolder('/does/not/exist')).toBeUndefined()
  })
})

describe('the mount type', () => {
  const mounts = String.raw`
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 21 0:35 / /home/me/far rw,nosuid - fuse.sshfs me@host: rw
41 21 0:36 / /home/me/far\040away rw - fuse.rclone remote rw
42 21 0:37 / /over rw - tmpfs tmpfs rw
43 21 0:38 / /over rw shared:9 master:2 - nfs4 host:/ rw
`
  it.each([
    ['/home/me', 'ext4'],
    ['/home/me/far', 'fuse.sshfs'],
    ['/home/me/far/data', 'fuse.sshfs'],
    ['/home/me/farther', 'ext4'],
    ['/home/me/far away/x', 'fuse.rclone'],
    ['/over/it', 'nfs4'],
  ])('of %s is %s', (folder, type) => {
    expect(typeInMountinfo(mounts, folder)).toBe(type)
  })
})
