#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sfd authors
"""The rules of libclient/content/README.md, written a second time: IDs of JSON documents.

usage: content_rule.py PROFILE LENGTH FILE...    prints "ID  FILE" for each, as sfctl content-id
"""
import hashlib
import json
import struct
import sys

PIECE = 65536


def digest(tag, body):
    return hashlib.blake2b(tag + body, digest_size=64, person=b"sfd content 1").digest()


def pieces(body):
    cuts = [body[at:at + PIECE] for at in range(0, len(body) + 1, PIECE)]
    return b"".join(struct.pack(">Q", len(cut)) + cut for cut in cuts)


def sfd_1(value):
    if value is None:
        return digest(b"n", pieces(b""))
    if isinstance(value, bool):
        return digest(b"t" if value else b"f", pieces(b""))
    if isinstance(value, int):
        return digest(b"i", pieces(str(value).encode()))
    if isinstance(value, float):
        return digest(b"d", pieces(struct.pack(">d", value)))
    if isinstance(value, str):
        return digest(b"s", pieces(value.encode()))
    if isinstance(value, list):
        return digest(b"l", b"".join(sfd_1(item) for item in value))
    pairs = sorted((sfd_1(key), sfd_1(item)) for key, item in value.items())
    return digest(b"m", b"".join(key + item for key, item in pairs))


def coola(value, length, by_key):
    def plain(text):
        return hashlib.blake2b(text.encode(), digest_size=length // 2).hexdigest()

    if isinstance(value, list):
        return plain("".join(coola(item, length, by_key) for item in value))
    if isinstance(value, dict):
        pairs = [(key if by_key else plain(key), plain(key), coola(item, length, by_key))
                 for key, item in value.items()]
        pairs.sort(key=lambda pair: pair[0].encode())
        return plain("".join(key + item for _, key, item in pairs))
    return plain(str(value))


def main(profile, length, *files):
    for name in files:
        with open(name, encoding="utf-8", newline="") as file:
            value = json.load(file)
        if profile == "sfd-1":
            made = sfd_1(value).hex()[:int(length)]
        else:
            made = coola(value, int(length), profile == "coola-1.1")
        print(f"{made}  {name}")


main(*sys.argv[1:])
