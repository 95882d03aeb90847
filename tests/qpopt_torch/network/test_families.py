"""Head discovery on many architectures with random weights.

Each entry says what must be found: whether there are feature maps, or an honest refusal.
"""

import warnings

import pytest
import torch
from torch import nn

from qpopt_torch import ModelError, find_head
from qpopt_torch.network.observation import evaluating, hooked, observe
from qpopt_torch.network.reading.outputs import logits_of

N_CLASSES = 7
MAPS, NO_MAPS, REFUSED = "maps", "no maps", "refused"

TORCHVISION = {
    "resnet18": MAPS,
    "densenet121": MAPS,
    "mobilenet_v2": MAPS,
    "mobilenet_v3_small": NO_MAPS,
    "efficientnet_b0": MAPS,
    "inception_v3": MAPS,
    "googlenet": MAPS,
    "swin_t": MAPS,
    "convnext_tiny": MAPS,
    "vit_b_32": MAPS,
    "shufflenet_v2_x0_5": MAPS,
    "mnasnet0_5": MAPS,
    "regnet_y_400mf": MAPS,
    "squeezenet1_1": REFUSED,
}
TIMM = {
    "convit_tiny:224": MAPS,
    "convmixer_768_32:56": MAPS,
    "convnextv2_atto": MAPS,
    "cspresnet50": MAPS,
    "davit_tiny": MAPS,
    "deit_tiny_distilled_patch16_224:224": REFUSED,
    "densenet121": MAPS,
    "dla34": MAPS,
    "dpn48b": MAPS,
    "edgenext_xx_small": MAPS,
    "efficientformer_l1:224": REFUSED,
    "efficientnet_lite0": MAPS,
    "efficientvit_b0": NO_MAPS,
    "efficientvit_m0:224": MAPS,
    "eva02_tiny_patch14_224:224": MAPS,
    "fasternet_t0": NO_MAPS,
    "fastvit_t8": MAPS,
    "focalnet_tiny_srf": MAPS,
    "gernet_s": MAPS,
    "ghostnet_050": NO_MAPS,
    "gmlp_ti16_224:224": MAPS,
    "hgnetv2_b0": NO_MAPS,
    "hrnet_w18_small": MAPS,
    "levit_128s:224": REFUSED,
    "mambaout_femto": NO_MAPS,
    "mixer_s32_224:224": MAPS,
    "mobilevit_xxs": MAPS,
    "nextvit_small": MAPS,
    "nf_regnet_b0": MAPS,
    "pit_ti_224:224": MAPS,
    "poolformer_s12": MAPS,
    "pvt_v2_b0": MAPS,
    "rdnet_tiny": MAPS,
    "regnetx_002": MAPS,
    "repvgg_a0": MAPS,
    "repvit_m0_9": REFUSED,
    "res2net50_14w_8s": MAPS,
    "resmlp_12_224:224": MAPS,
    "resnest14d": MAPS,
    "resnet10t": MAPS,
    "resnetv2_50": MAPS,
    "rexnet_100": MAPS,
    "selecsls42": NO_MAPS,
    "legacy_seresnet18": MAPS,
    "skresnet18": MAPS,
    "starnet_s1": MAPS,
    "swiftformer_xs": REFUSED,
    "tiny_vit_5m_224:224": MAPS,
    "twins_pcpvt_small": MAPS,
    "visformer_tiny:224": MAPS,
    "vit_tiny_patch16_224:224": MAPS,
    "vovnet39a": MAPS,
    "xception41": MAPS,
    "xcit_nano_12_p16_224:224": MAPS,
}
TIMM_SLOW = {
    "beit_base_patch16_224:224": MAPS,
    "cait_xxs24_224:224": MAPS,
    "coat_tiny:224": NO_MAPS,
    "coatnet_nano_rw_224:224": MAPS,
    "cpubone_nano": NO_MAPS,
    "crossvit_9_240:240": REFUSED,
    "csatv2": NO_MAPS,
    "gcvit_xxtiny:224": MAPS,
    "hardcorenas_a": NO_MAPS,
    "hiera_tiny_224:224": MAPS,
    "iformer_s": MAPS,
    "inception_next_atto": NO_MAPS,
    "inception_resnet_v2:299": MAPS,
    "inception_v3:299": MAPS,
    "inception_v4:299": MAPS,
    "lambda_resnet26rpt_256:256": MAPS,
    "lcnetv2_small": NO_MAPS,
    "lowformer_b0": NO_MAPS,
    "mobilenetv3_small_050": NO_MAPS,
    "mvitv2_tiny:224": MAPS,
    "naflexvit_base_patch16_siglip": NO_MAPS,
    "nasnetalarge:96": MAPS,
    "nest_tiny:224": MAPS,
    "pnasnet5large": MAPS,
    "qwen3_vit_88m": MAPS,
    "repghostnet_050": NO_MAPS,
    "sam2_hiera_tiny": MAPS,
    "samvit_base_patch16": MAPS,
    "sequencer2d_s:224": MAPS,
    "shvit_s1": NO_MAPS,
    "swin_tiny_patch4_window7_224:224": MAPS,
    "swinv2_cr_tiny_224:224": MAPS,
    "swinv2_tiny_window8_256:256": MAPS,
    "tnt_s_patch16_224:224": MAPS,
    "tresnet_m": MAPS,
    "vgg11": NO_MAPS,
    "legacy_xception": MAPS,
    "vit_relpos_small_patch16_224:224": MAPS,
    "vit_tiny_r_s16_p8_224:224": MAPS,
    "vitamin_small_224:224": MAPS,
    "volo_d1_224:224": REFUSED,
}


def check(model: nn.Module, x: torch.Tensor, expected: str) -> None:
    """Find the head and apply it to what is observed: that must give the model's own logits."""
    if expected == REFUSED:
        with pytest.raises(ModelError, match="No linear layer gives the model's output"):
            find_head(model, x)
        return
    head = find_head(model, x)
    assert head.n_classes == N_CLASSES
    assert (head.layer is not None) == (expected == MAPS)
    module, layer = head.modules(model)
    seen = {}

    def keep_received(module, args):
        seen["received"] = args[0].clone()

    def keep_maps(module, args, output):
        seen["pooled"] = head.layout.pool(output.double())

    hooks = {} if layer is None else {layer: keep_maps}
    with evaluating(model), torch.no_grad():
        with hooked(hooks, {module: keep_received}):
            logits = logits_of(model(x))
        again = module(seen["received"]).flatten(1)
    torch.testing.assert_close(again, logits, rtol=1e-4, atol=1e-5)
    if layer is not None and head.norm is None:
        received = seen["received"].flatten(1).double()
        torch.testing.assert_close(seen["pooled"], received, rtol=1e-3, atol=1e-4)


def build(function, *args, **keywords) -> nn.Module:
    """Build a model with random weights; warnings are the collections' own."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **keywords)


def images(size: int) -> torch.Tensor:
    return torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", TORCHVISION)
def test_torchvision(torchvision, name):
    options = {"num_classes": N_CLASSES}
    if name in ("inception_v3", "googlenet"):
        options |= {"aux_logits": False, "init_weights": False}
    if name.startswith("vit"):
        options["image_size"] = 64
    model = build(getattr(torchvision.models, name), **options)
    check(model, images(128 if name == "inception_v3" else 64), TORCHVISION[name])


@pytest.mark.parametrize("name", TIMM)
def test_timm(timm, name):
    check_timm(timm, name, TIMM[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", TIMM_SLOW)
def test_more_of_timm(timm, name):
    check_timm(timm, name, TIMM_SLOW[name])


def check_timm(timm, name: str, expected: str) -> None:
    name, _, size = name.partition(":")
    model = build(timm.create_model, name, num_classes=N_CLASSES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(model, images(int(size or 64)), expected)


TRANSFORMERS = {
    "ViT": {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "image_size": 64,
    },
    "ResNet": {"embedding_size": 8, "hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]},
    "ConvNext": {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]},
    "Swin": {"embed_dim": 8, "depths": [1, 1], "num_heads": [1, 2], "window_size": 4},
    "MobileNetV2": {},
}


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers(transformers, name):
    options = dict(TRANSFORMERS[name])
    if name == "Swin":
        options["image_size"] = 64
    config = getattr(transformers, f"{name}Config")(num_labels=N_CLASSES, **options)
    model = build(getattr(transformers, f"{name}ForImageClassification"), config)
    check(model, images(64), MAPS)


SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "vocab_size": 40,
    "max_position_embeddings": 64,
}
TEXTS = {
    "Bert": MAPS,
    "DistilBert": MAPS,
    "Roberta": MAPS,
    "GPT2": REFUSED,  # it scores every token, and takes the scores of the last
}
TEXTS_SLOW = {
    "Albert": MAPS,
    "BigBird": MAPS,
    "Camembert": MAPS,
    "Canine": MAPS,
    "ConvBert": MAPS,
    "Data2VecText": MAPS,
    "Deberta": MAPS,
    "DebertaV2": MAPS,
    "Electra": MAPS,
    "Ernie": MAPS,
    "FNet": MAPS,
    "LayoutLM": MAPS,
    "Longformer": MAPS,
    "Luke": MAPS,
    "MegatronBert": MAPS,
    "MobileBert": MAPS,
    "ModernBert": MAPS,
    "MPNet": MAPS,
    "RemBert": MAPS,
    "RoFormer": MAPS,
    "SqueezeBert": NO_MAPS,
    "XLMRoberta": MAPS,
    "Yoso": MAPS,
}
OF_THEIR_OWN = {
    "DistilBert": {"dim": 16, "hidden_dim": 32, "n_heads": 2, "n_layers": 2},
    "GPT2": {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64, "pad_token_id": 0},
    "Albert": {"embedding_size": 8},
    "ConvBert": {"embedding_size": 16},
    "Electra": {"embedding_size": 8},
    "Longformer": {"attention_window": 4},
    "Luke": {"entity_vocab_size": 10, "entity_emb_size": 8},
    "MobileBert": {"embedding_size": 8, "intra_bottleneck_size": 16},
    "ModernBert": {"pad_token_id": 0},
    "RemBert": {"input_embedding_size": 8},
    "RoFormer": {"embedding_size": 8},
    "SqueezeBert": {
        "embedding_size": 16,
        **{f"{place}_groups": 1 for place in ("q", "k", "v", "post_attention", "intermediate")},
        "output_groups": 1,
    },
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts(transformers, name):
    check_text(transformers, name, TEXTS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS_SLOW)
def test_more_texts(transformers, name):
    check_text(transformers, name, TEXTS_SLOW[name])


def check_text(transformers, name: str, expected: str) -> None:
    """Find the head, and see that padding has no place in the maps."""
    options = {**SMALL, **OF_THEIR_OWN.get(name, {})}
    config = getattr(transformers, f"{name}Config")(num_labels=N_CLASSES, **options)

    def made() -> nn.Module:
        return getattr(transformers, f"{name}ForSequenceClassification")(config)

    model = build(made).eval()
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 40, (4, 16), generator=generator)
    mask = (torch.arange(16) < 16 - 2 * torch.arange(4)[:, None]).long()
    x = {"input_ids": ids * mask + (config.pad_token_id or 0) * (1 - mask), "attention_mask": mask}
    if expected == REFUSED:
        with pytest.raises(ModelError, match="No linear layer gives the model's output"):
            find_head(model, x)
        return
    head = find_head(model, x)
    assert (head.layer is not None) == (expected == MAPS)
    with observe(model, head) as seen:
        expected_logits = logits_of(model(**x))
    module, _ = head.modules(model)
    torch.testing.assert_close(module(seen.features), expected_logits, rtol=1e-4, atol=1e-5)
    if head.mask is not None:
        assert torch.equal(torch.isfinite(seen.maps[:, 0]), mask[:, head.layout.prefix :].bool())
